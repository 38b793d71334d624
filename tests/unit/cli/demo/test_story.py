"""The demo's story, told on a machine and a clock of the test's own."""

from pulsetrain.cli.demo.chapters import first_problem
from pulsetrain.cli.demo.journal import Tone
from tests.unit.cli.demo.world import BEGIN, MOVED, STARTED_SECONDS, World


def labels(world: World) -> list[str]:
    return [action for action in world.actions if action.startswith("label ")]


def test_the_loop_closes_where_every_fault_is_detected_and_the_job_is_excused_after_its_label() -> None:
    world = World()
    assert world.run() is None
    assert first_problem(world.story.chapters) is None
    assert {state for state, _ in world.results().values()} == {"done"}
    assert world.actions == [
        *("start cpu_hog", "stop cpu_hog"),
        *("start memory_leak", "stop memory_leak"),
        *("start disk_hammer", "stop disk_hammer"),
        *("start network_copy", "stop network_copy"),
        *labels(world),
        *("start network_copy", "start disk_hammer", "stop disk_hammer", "stop network_copy"),
        *("start cpu_hog", "stop cpu_hog"),
    ]
    assert len(labels(world)) == 1


def test_the_whole_takes_less_than_four_minutes_where_all_goes_well() -> None:
    world = World()
    world.run()
    assert world.now - BEGIN < 220


def test_the_label_is_for_the_anomaly_of_the_job_and_comes_after_it_has_closed() -> None:
    world = World()
    world.run()
    chapter = next(one for one in world.story.chapters if one.name == "flag_benign")
    assert chapter.detection is not None
    assert labels(world) == [f"label {chapter.detection.anomaly.id}"]
    texts = [note.text for note in world.journal.notes]
    labelled = texts.index(f"label: {chapter.detection.anomaly.id} was a false positive")
    assert texts[labelled - 1].startswith("the anomaly is over")


def test_a_job_that_is_flagged_in_spite_of_its_label_is_labelled_again() -> None:
    world = World(labels_needed=2)
    assert world.run() is None
    assert first_problem(world.story.chapters) is None
    assert len(labels(world)) == 2


def test_a_fault_that_nobody_detects_is_tried_twice_and_leaves_the_loop_open() -> None:
    world = World(unseen={"memory_leak"})
    assert world.run() is None
    assert world.actions.count("start memory_leak") == 2
    assert world.results()["detect_memory_leak"] == ("failed", "not detected")
    assert first_problem(world.story.chapters) == "the memory leak was not detected in 12 s"


def test_a_job_that_is_not_flagged_leaves_nothing_to_label() -> None:
    world = World(unseen={"network_copy"})
    assert world.run() == "the network copy was not flagged, so there is nothing to learn"
    assert not labels(world)
    assert not world.running


def test_a_refused_training_ends_the_story_with_the_trainers_reason() -> None:
    world = World(refusal="61 windows labelled benign teach nothing new")
    assert world.run() == "nothing was learned from the label: 61 windows labelled benign teach nothing new"


def test_the_agent_starts_once_all_workers_have_given_a_sign_of_life() -> None:
    world = World()
    world.run()
    assert world.agent_started_at == BEGIN + STARTED_SECONDS


def test_without_workers_the_story_ends_and_names_them() -> None:
    world = World(dead=True)
    assert world.run() == "no sign of life came from detect, features, learn within 45 s"
    assert world.agent_started_at is None


def test_without_samples_the_story_ends_and_says_so() -> None:
    world = World(silent=True)
    assert world.run() == "no samples came within 20 s"
    assert world.now - BEGIN < 46


def test_without_a_model_the_story_ends_and_says_so() -> None:
    world = World(untrained=True)
    assert world.run() == "no model was learned within 105 s"


def test_an_anomaly_that_was_open_before_a_fault_is_not_its_detection() -> None:
    """Other work on the machine deviates in the hog's own metric until after the hog's first time."""
    world = World(unseen={"cpu_hog"}, noise={range(68, 110): MOVED["cpu_hog"]})
    world.run()
    assert world.results()["detect_cpu_hog"] == ("failed", "not detected")


def test_a_fault_hidden_by_noise_gets_its_second_chance_in_quiet() -> None:
    world = World(noise={range(68, 93): MOVED["cpu_hog"]})
    assert world.run() is None
    assert world.actions[:4] == ["start cpu_hog", "stop cpu_hog"] * 2
    assert world.results()["detect_cpu_hog"] == ("done", "detected")
    assert first_problem(world.story.chapters) is None


def test_verdicts_about_other_metrics_do_not_stop_the_loop_from_closing() -> None:
    world = World(noise={range(80, 400, 35): "system.linux.softirqs{linux.softirq.type=rcu}"})
    assert world.run() is None
    assert first_problem(world.story.chapters) is None


def test_a_machine_that_is_never_quiet_ends_the_demo_in_time() -> None:
    world = World(
        unseen={"cpu_hog", "memory_leak", "disk_hammer"},
        noise={range(68, 1000): "system.linux.softirqs{linux.softirq.type=rcu}"},
    )
    reason = world.run()
    assert reason is not None
    assert reason.startswith("after 205 s there was no time left to ")
    assert world.now - BEGIN < 240
    assert not world.running


def test_a_machine_that_is_busy_with_other_work_is_told_after_the_warm_up() -> None:
    told = "this machine is 90% busy with other work: faults may be missed, and other things flagged"
    for busy, expected in ((0.9, 1), (0.4, 0)):
        world = World(busy=busy)
        world.run()
        assert [note.text for note in world.journal.notes].count(told) == expected


def test_every_wait_says_what_it_waits_for() -> None:
    world = World()
    world.run()
    assert all(world.waits)
    assert world.waits[:5] == [
        "the workers",
        "the first feature window",
        "the first model",
        "a verdict about the CPU hog",
        "more of the CPU hog",
    ]
    assert {"quiet", "the anomaly to close", "the retrained model"} <= set(world.waits)


def test_each_start_and_end_of_a_load_is_told() -> None:
    world = World()
    world.run()
    plot = [note.text for note in world.journal.notes if note.tone is Tone.PLOT]
    assert sum(text.startswith("starts: ") for text in plot) == sum(text.startswith("ends: ") for text in plot) == 7
