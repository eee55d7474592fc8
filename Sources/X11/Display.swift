// The only module that calls Xlib.
