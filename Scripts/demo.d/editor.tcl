# A small Tk text editor that is told over standard input what its user does:
#
#   wish editor.tcl -name ledger        (Tk makes the window class of it: Ledger)
#
# One command a line, one answer a line. Copy and paste are Tk's own, the same code that Control-C and Control-V run.

wm title . "[winfo class .] (Tk)"
wm geometry . 360x120
text .text -font {Monospace 10} -exportselection 0
pack .text -expand 1 -fill both

proc answer {word} {
  puts $word
  flush stdout
}

proc obey {} {
  if {[gets stdin line] < 0} { exit 0 }
  set rest [join [lrange [split $line] 1 end]]
  switch -- [lindex [split $line] 0] {
    type {
      .text delete 1.0 end
      .text insert end $rest
      answer ok
    }
    copy {
      .text tag add sel 1.0 end-1c
      event generate .text <<Copy>>
      answer ok
    }
    paste {
      # Returns when the owner has answered, or after Tk's own time-out.
      .text delete 1.0 end
      event generate .text <<Paste>>
      answer [string map {\n " "} [.text get 1.0 end-1c]]
    }
    default { answer "unknown command" }
  }
}

fconfigure stdin -encoding utf-8
fconfigure stdout -encoding utf-8
update
fileevent stdin readable obey
answer ready
