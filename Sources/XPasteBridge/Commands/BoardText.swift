/// Boards for people.
enum BoardText {
  /// One line for each board.
  static func boards(_ json: JSON) -> String {
    let boards = json["boards"]?.elements ?? []
    return boards.map { board in
      let items = board["items"]?.elements ?? []
      var words = "\(items.count) item\(items.count == 1 ? "" : "s"), \(StatusText.field(board["bytes"])) bytes"
      if board["persistent"]?.truth == true { words += ", persistent" }
      words += ", change \(StatusText.field(board["changeCount"]))"
      return "\(StatusText.field(board["name"])): \(words)\n"
    }.joined()
  }

  /// One line for each item of each board.
  static func items(_ json: JSON) -> String {
    let items = (json["boards"]?.elements ?? []).flatMap { $0["items"]?.elements ?? [] }
    return items.map { item in
      let types = (item["types"]?.elements ?? []).map {
        "\(StatusText.field($0["type"])) \(StatusText.field($0["bytes"]))"
      }
      var words = [types.joined(separator: ", ")]
      words += (item["labels"]?.elements ?? []).map { "looks like \(StatusText.field($0))" }
      words += ["pinned", "localOnly", "sensitive"].filter { item[$0]?.truth == true }
        .map { $0 == "localOnly" ? "local only" : $0 }
      if let seconds = item["expiresInSeconds"] { words.append("ends in \(StatusText.field(seconds)) s") }
      if let source = item["source"] { words.append("from \(StatusText.subject(source))") }
      return "\(StatusText.field(item["item"])): \(words.joined(separator: "; "))\n"
    }.joined()
  }

  /// What a signal says; `nil` when it is none of the boards'.
  static func notice(_ message: BusMessage, hasJSON: Bool) throws(SystemFailure) -> String? {
    switch message.member {
    case "BoardChanged":
      let name = try message.readString()
      let count = try message.readUInt64()
      let (added, removed) = (try message.readStrings(), try message.readStrings())
      guard hasJSON else {
        let words = added.map { "+" + Label.plain($0) } + removed.map { "-" + Label.plain($0) }
        return (["\(Label.plain(name)): change \(count)"] + words).joined(separator: " ")
      }
      return JSON.object([
        "schema": .integer(BoardReport.schemaVersion), "board": .string(Label.shortened(name)),
        "changeCount": .integer(Int(clamping: count)), "addedTypes": .strings(added.map { Label.shortened($0) }),
        "removedTypes": .strings(removed.map { Label.shortened($0) }),
      ]).description
    case "BoardRemoved":
      let name = try message.readString()
      guard hasJSON else { return "\(Label.plain(name)): removed" }
      return JSON.object([
        "schema": .integer(BoardReport.schemaVersion), "board": .string(Label.shortened(name)), "removed": .bool(true),
      ]).description
    default: return nil
    }
  }
}
