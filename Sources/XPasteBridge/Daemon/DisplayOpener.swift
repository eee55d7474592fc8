/// Opens displays: the one place where the daemon meets the X side.
enum DisplayOpener {
  /// Connects, becomes the display's one instance and adopts its selections.
  static func open(_ request: DisplayRequest) throws(DisplayFailure) -> any DisplaySession {
    throw DisplayFailure(line: "can't guard display `\(Label.plain(request.name))`: this build has no X side")
  }
}
