#!/usr/bin/tclsh
# A Tk program that uses a board of XPasteBridge by X alone: a board is a selection of its own name.
#
#   board-tk.tcl copy BOARD TEXT    puts the text on the board
#   board-tk.tcl paste BOARD        prints the newest text of the board, and nothing where there is none for this program

lassign $argv verb board text
# Policies know a program by its class, which Tk makes from the name (Board-example here), and by its executable.
set argv {-name board-example}
set argc 2
package require Tk
wm withdraw .
update

if {$verb eq "copy"} {
    # In pieces, as Tk asks for them.
    proc give {offset count} {
        global text
        return [string range $text $offset [expr {$offset + $count - 1}]]
    }
    selection handle -selection $board -type UTF8_STRING . give
    # The daemon reads the text and takes the selection over; from then on the board has it.
    selection own -selection $board -command exit .
    after 5000 exit
} else {
    if {![catch {selection get -selection $board -type UTF8_STRING} found]} { puts $found }
    exit
}
