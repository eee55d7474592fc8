#!/usr/bin/wish
# A Tk 8.6 text widget; -name NAME sets WM_CLASS: the instance as it is, the class with a capital letter.
#
# Carries: UTF-8 of the BMP (8.6 keeps characters beyond it as two halves), NUL within its own text; no empty copy; as
# a reader at most 400,000 bytes in one property or chunk.


# One JSON object a line; all values used here are numbers or names without quotes.
proc tell {event args} {
    set line "\{\"event\":\"$event\""
    foreach {key value} $args {
        append line ",\"$key\":[expr {[string is integer -strict $value] ? $value : "\"[string map {\\ \\\\ \" ' \n { }} $value]\""}]"
    }
    puts "$line\}"
    flush stdout
}

proc read_text {path} {
    set file [open $path rb]
    set bytes [read $file]
    close $file
    return [encoding convertfrom utf-8 $bytes]
}

proc write_text {path text} {
    set file [open $path.part wb]
    puts -nonewline $file [encoding convertto utf-8 $text]
    close $file
    file rename -force $path.part $path
}

proc content {} { return [.text get 1.0 "end - 1 char"] }

proc run {name {first ""}} {
    switch -- $name {
        show {
            wm deiconify .
            focus -force .text
            update
            tell done command show window [expr {[winfo id .]}] pid [pid]
        }
        load { .text delete 1.0 end; .text insert 1.0 [read_text $first]; tell done command load length [string length [content]] }
        dump { write_text $first [content]; tell done command dump }
        clear { .text delete 1.0 end; tell done command clear }
        length { tell done command length bytes [string length [encoding convertto utf-8 [content]]] }
        bounds {
            set marked [.text tag ranges sel]
            tell done command bounds marked [expr {$marked ne ""}] text [expr {$marked ne "" ? [.text get sel.first sel.last] : ""}]
        }
        quit { exit 0 }
        default { tell error command $name message "command: expected show, load, dump, clear, length, bounds or quit, found $name" }
    }
}

proc ready {} {
    if {[gets stdin line] < 0} {
        if {[eof stdin]} { exit 0 }
        return
    }
    if {[catch {run {*}$line} wrong]} { tell error command [lindex $line 0] message $wrong }
}

wm title . [winfo class .]
text .text -width 50 -height 8
pack .text
# A tag after the class's own: its bindings run when the widget's copy or paste is over.
bindtags .text [concat [bindtags .text] After]
bind After <<Paste>> { tell pasted }
bind After <<Copy>> { tell copied }
bind .text <Control-a> { .text tag add sel 1.0 "end - 1 char"; break }
fconfigure stdin -blocking 0
fileevent stdin readable ready
tell ready pid [pid]
