"""The commands, one module each: parse, call one function of the library, print its result."""
