/// The verbs of boards.
enum BoardCommandTable {
  private static func item(_ summary: String) -> OptionSpecification {
    OptionSpecification(
      name: "item", letter: "i", value: "ITEM", kind: .number,
      summary: "the item's number, as board list prints it; \(summary)")
  }
  private static let type = OptionSpecification(
    name: "type", letter: "T", value: "TYPE", summary: "the content's type (default: UTF8_STRING)")

  private static func operand(_ name: String, _ minimum: Int = 1, _ maximum: Int = 1) -> OperandSpecification {
    OperandSpecification(name: name, minimum: minimum, maximum: maximum, kind: .text)
  }

  /// All of them, in the order of the help text.
  static let commands: [CommandSpecification] = [
    CommandSpecification(
      words: ["board", "list"], summary: "list the boards that this program may use, or the items of one",
      details:
        "The board general is the clipboard. What is told of an item is what types it has and what its text looks "
        + "like, never the content.",
      options: CommandTable.options(CommandTable.json), operands: operand("BOARD", 0)),
    CommandSpecification(
      words: ["board", "create"], summary: "make a board, for its members until it is removed",
      details:
        "With --unique the board has a name of its own, which is printed, and lasts as long as the command runs.",
      options: CommandTable.options(
        OptionSpecification(
          name: "members", letter: "m", value: "BOARD",
          summary: "for the members of this board of the policy; needed but with --unique"),
        OptionSpecification(name: "unique", letter: "u", summary: "a board of its own name, gone with the command")),
      operands: operand("BOARD", 0)),
    CommandSpecification(
      words: ["board", "read"], summary: "print one item's content",
      options: CommandTable.options(item("default: the newest"), type), operands: operand("BOARD")),
    CommandSpecification(
      words: ["board", "write"], summary: "put a new item on a board",
      details:
        "The content is read from FILE, or from standard input for - and without one. TYPE=FILE, given as often as "
        + "needed, makes one item of several types; where there is a file of that whole name, it is that file.",
      options: CommandTable.options(
        type,
        OptionSpecification(name: "replace", letter: "r", summary: "in the place of all items that aren't pinned"),
        OptionSpecification(
          name: "expires", letter: "e", value: "SECONDS", kind: .number, summary: "drop it after so many seconds"),
        OptionSpecification(name: "local-only", letter: "l", summary: "for programs of this machine alone")),
      operands: OperandSpecification(name: "BOARD [FILE]", minimum: 1)),
    CommandSpecification(
      words: ["board", "copy"], summary: "copy an item from one board to another, such as general",
      options: CommandTable.options(item("default: the newest")), operands: operand("BOARD", 2, 2)),
    CommandSpecification(
      words: ["board", "watch"], summary: "print what changes on one board, or on all",
      options: CommandTable.options(CommandTable.json), operands: operand("BOARD", 0)),
    CommandSpecification(
      words: ["board", "pin"], summary: "keep an item whatever the quota says, or no longer",
      options: CommandTable.options(
        item("required"), OptionSpecification(name: "off", letter: "o", summary: "no longer")),
      operands: operand("BOARD")),
    CommandSpecification(
      words: ["board", "remove"], summary: "remove an item, or a whole board that a program has made",
      options: CommandTable.options(item("without it the whole board goes")), operands: operand("BOARD")),
    CommandSpecification(
      words: ["board", "wipe"], summary: "remove all items of a board, pinned ones too",
      options: CommandTable.options(), operands: operand("BOARD")),
  ]
}
