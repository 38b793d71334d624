"""One module a command of `pulsetrain`: its arguments and help; what it does is imported when it runs."""
