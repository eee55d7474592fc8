import Policy

/// Which keys an app has: what the policy's `keys:` says, else what its class or its executable's name tells.
public enum KeyChoice {
  private static let terminals: Set<String> = [
    "xterm", "uxterm", "koi8rxterm", "urxvt", "rxvt", "st", "st-256color", "gnome-terminal", "gnome-terminal-server",
    "org.gnome.terminal", "org.gnome.console", "kgx", "org.gnome.ptyxis", "xfce4-terminal", "mate-terminal",
    "lxterminal", "lxqt-terminal", "qterminal", "konsole", "yakuake", "guake", "tilda", "tilix", "terminator",
    "terminology", "sakura", "lilyterm", "roxterm", "termite", "kitty", "alacritty", "wezterm", "wezterm-gui",
    "org.wezfurlong.wezterm", "ghostty", "com.mitchellh.ghostty", "cool-retro-term", "deepin-terminal", "hyper",
    "rio", "contour", "eterm", "aterm", "mlterm", "xvt",
  ]
  private static let emacsen: Set<String> = ["emacs", "emacs-gtk", "emacs-lucid", "emacs-nox", "xemacs", "jmacs"]
  private static let vims: Set<String> = ["gvim", "vim", "vim.gtk3", "vim.gtk", "nvim-qt", "neovide", "macvim"]

  /// The keys of `subject`.
  public static func keys(of subject: Subject, in policy: PolicySet) -> KeySet {
    let usual = usual(of: subject)
    guard let assignment = policy.keyAssignment(of: subject) else { return KeySet(named: usual) }
    var keys = KeySet(named: assignment.base ?? usual)
    keys.chords.merge(assignment.chords) { _, said in said }
    return keys
  }

  /// The set that the app's own facts lead to. A false one costs a person some keys, or spares an app the grabs; what it
  /// may copy and paste is decided all the same.
  static func usual(of subject: Subject) -> KeySetName {
    let path = subject.executable?.value.split(separator: "/").last.map(String.init)
    let names = [subject.windowClass?.value, path].compactMap { $0?.lowercased() }
    for name in names {
      if terminals.contains(name) { return .terminal }
      if emacsen.contains(name) || name.hasPrefix("emacs-") { return .emacs }
      if vims.contains(name) { return .vim }
    }
    return .ordinary
  }
}
