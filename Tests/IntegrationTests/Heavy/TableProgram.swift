import Foundation

/// A program of the transparency table: copies and pastes kinds of content.
protocol TableProgram: AnyObject {
  var name: String { get }
  var copies: [ContentKind] { get }
  var pastes: [ContentKind] { get }
  /// Copies the sample at `path`; returns when somebody has taken CLIPBOARD.
  func copy(_ kind: ContentKind, from path: String) throws
  /// Pastes and returns what the document then holds, in a form that can be compared. `expecting` many bytes may be waited
  /// for.
  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data
  /// Ends the program, and with it what it owns.
  func exit()
}

/// One of the small programs in the same table. GTK and Qt also give and take HTML and PNG by their toolkit's functions.
final class LightProgram: TableProgram {
  let name: String
  let copies: [ContentKind]
  let pastes: [ContentKind]
  private let program: any PasteProgram

  init(_ kind: ProgramKind, on desktop: Desktop) throws {
    name = kind.rawValue
    program = try kind.start(on: desktop)
    copies = program is WindowProgram && kind == .gtk ? [.text, .rich, .image] : [.text]
    pastes = kind == .gtk || kind == .qt ? [.text, .rich, .image] : [.text]
  }

  func copy(_ kind: ContentKind, from path: String) throws {
    let content = try Data(contentsOf: URL(fileURLWithPath: path))
    switch kind {
    case .rich:
      try window.offer(["text/html": content, "UTF8_STRING": Data("first bold and italic".utf8)])
    case .image: try window.offer(["image/png": content])
    default: try program.copy(content)
    }
  }

  private var window: WindowProgram {
    guard let window = program as? WindowProgram else { preconditionFailure("\(name) has no window") }
    return window
  }

  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data {
    switch kind {
    case .rich: try window.fetch("text/html") ?? Data()
    case .image: try window.fetch("image/png") ?? Data()
    default: try program.paste(expecting: expecting == 0 ? nil : expecting)
    }
  }

  func exit() { program.exit() }
}
