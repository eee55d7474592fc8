import Selection
import Testing

@testable import X11

@Suite(.serialized) struct PropertyTests {
  let server: PrivateServer
  let display: Display
  let peer: Display
  let window: Window
  let property: Atom

  init() throws {
    server = try PrivateServer()
    display = try server.connect()
    peer = try server.connect()
    window = display.makeWindow()
    property = display.atoms.intern("_TEST").atom
    display.synchronize()
  }

  private func read(_ bytes: [UInt8], type: String, format: UInt8, limit: Int = 1 << 30) -> PropertyValue {
    peer.put(bytes, type: type, format: format, in: property, of: window)
    peer.synchronize()
    return reader.readAndDelete(window: window, property: property, limit: limit)
  }

  private var reader: PropertyReader { PropertyReader(xcb: display.xcb, atoms: display.atoms) }

  private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) } }

  @Test(arguments: [0, 1, 3, 4, 262_144, 262_145, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 20_000_001])
  func bytesOfAllLengths(_ count: Int) {
    let bytes = pattern(count)
    // 20 MB are more than one request holds: the peer appends.
    var rest = bytes[...]
    peer.put(Array(rest.prefix(8_000_000)), type: "UTF8_STRING", format: 8, in: property, of: window)
    rest = rest.dropFirst(8_000_000)
    while !rest.isEmpty {
      _ = Array(rest.prefix(8_000_000)).withUnsafeBytes {
        peer.xcb.changeProperty(
          window: window.id, property: property.id, type: peer.atoms.intern("UTF8_STRING").atom.id, format: 8,
          bytes: $0, appends: true)
      }
      rest = rest.dropFirst(8_000_000)
    }
    peer.synchronize()
    let value = reader.readAndDelete(window: window, property: property, limit: 1 << 30)
    guard case .value(let type, 8, let payload) = value else {
      Issue.record("\(value)")
      return
    }
    #expect(type.name == "UTF8_STRING")
    #expect(payload.copiedBytes() == bytes)
    #expect(reader.readAndDelete(window: window, property: property, limit: 1 << 30) == .absent)
  }

  @Test func formatsKeepTheirBytes() {
    #expect(
      read([1, 2, 3, 4], type: "STRING", format: 16)
        == .value(type: NamedAtom(Atom(31), "STRING"), format: 16, payload: Payload([1, 2, 3, 4])))
    #expect(
      read([1, 2, 3, 4, 5, 6, 7, 8], type: "INTEGER", format: 32)
        == .value(type: NamedAtom(Atom(19), "INTEGER"), format: 32, payload: Payload([1, 2, 3, 4, 5, 6, 7, 8])))
  }

  @Test func limits() {
    #expect(read([1, 2, 3], type: "STRING", format: 8, limit: 2) == .tooLarge(bytes: 3))
    #expect(read([UInt8](repeating: 1, count: 5_000), type: "STRING", format: 8, limit: 100) == .tooLarge(bytes: 5_000))
    #expect(read([1], type: "STRING", format: 8, limit: 0) == .tooLarge(bytes: 1))
    guard case .value(_, _, let payload) = read([1, 2, 3], type: "STRING", format: 8, limit: 3) else {
      Issue.record("three bytes are within a limit of three")
      return
    }
    #expect(payload.count == 3)
  }

  @Test func incrementalHeaders() {
    #expect(read([0, 0, 1, 0], type: "INCR", format: 32) == .incremental(hint: 65_536))
    #expect(reader.readAndDelete(window: window, property: property, limit: 9) == .absent)
    #expect(read([], type: "INCR", format: 32) == .incremental(hint: 0))
    #expect(read([7], type: "INCR", format: 8) == .incremental(hint: 0))
    // Longer than it should be: still taken away, since that starts the transfer.
    #expect(read([UInt8](repeating: 0, count: 4_000_000), type: "INCR", format: 32) == .incremental(hint: 0))
    #expect(reader.readAndDelete(window: window, property: property, limit: 9) == .absent)
  }

  @Test func atomLists() {
    let listed = [Atom(31), .none, Atom(0x1fff_fff0), Atom(4), Atom(31)]
    let bytes = listed.flatMap { atom in withUnsafeBytes(of: atom.id) { Array($0) } }
    let names = PropertyValue.atoms([NamedAtom(Atom(31), ""), NamedAtom(Atom(4), ""), NamedAtom(Atom(31), "")])
    #expect(read(bytes, type: "ATOM", format: 32) == names)
    #expect(read(bytes, type: "TARGETS", format: 32) == names)
    #expect(read([], type: "ATOM", format: 32) == .atoms([]))
    // A list in bytes is no list.
    guard case .value(_, 8, _) = read([1, 2, 3, 4], type: "ATOM", format: 8) else {
      Issue.record("format 8 isn't a list of atoms")
      return
    }
    guard case .atoms(let long) = read([UInt8](repeating: 0, count: 8_000_000), type: "ATOM", format: 32) else {
      Issue.record("a long list is a list")
      return
    }
    #expect(long.isEmpty)
    #expect(display.unexpectedErrorCount == 0)
  }

  @Test func pairLists() {
    let requestor = peer.makeWindow()
    let words: [UInt32] = [31, 100, 0x1fff_fff0, 101, 4, 102]
    peer.put(
      words.flatMap { word in withUnsafeBytes(of: word) { Array($0) } }, type: "ATOM_PAIR", format: 32, in: property,
      of: requestor)
    peer.synchronize()
    let request = ConversionRequest(
      requestor: requestor, selection: display.atoms.intern("CLIPBOARD"), target: display.atoms.intern("MULTIPLE"),
      property: property, time: .current)
    let pairs = display.readPairs(of: request, limit: 64)
    #expect(pairs?.map(\.target.name) == ["STRING", "", "ATOM"])
    #expect(pairs?.map(\.property.id) == [100, 101, 102])
    #expect(display.readPairs(of: request, limit: 1)?.count == 2)
    var absent = request
    absent.property = display.atoms.intern("_OTHER").atom
    #expect(display.readPairs(of: absent, limit: 64) == nil)
    absent.requestor = Window(0x1fff_fff0)
    #expect(display.readPairs(of: absent, limit: 64) == nil)
  }
}
