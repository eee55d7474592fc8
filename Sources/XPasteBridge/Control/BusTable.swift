@preconcurrency import CSystemd
@preconcurrency import Glibc

/// One interface as sd-bus wants it: methods, properties and signals with the names of their parameters.
final class BusTable {
  /// One method.
  struct Method {
    var name: String
    /// The types and names that go in.
    var takes: (signature: String, names: [String]) = ("", [])
    /// The types and names that come out.
    var gives: (signature: String, names: [String])
    /// Answers the call now, or keeps it and answers it later.
    var answer: (BusMessage) throws(SystemFailure) -> Void
  }

  /// One property.
  struct Property {
    var name: String
    var signature = "s"
    /// How callers learn of another value.
    var flags: UInt64
    /// Adds the value to an answer.
    var write: (BusMessage) throws(SystemFailure) -> Void

    /// A string that is announced when it changes, or stays the same as long as the daemon lives.
    init(name: String, isConstant: Bool, value: @escaping () -> String) {
      self.name = name
      flags = UInt64(isConstant ? SD_BUS_VTABLE_PROPERTY_CONST : SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
      write = { message throws(SystemFailure) in try message.append(value()) }
    }

    /// A value of any type, whose changes aren't announced by the bus's own signal.
    init(_ name: String, _ signature: String, write: @escaping (BusMessage) throws(SystemFailure) -> Void) {
      self.name = name
      self.signature = signature
      flags = 0
      self.write = write
    }
  }

  /// One signal.
  struct Signal {
    var name: String
    var signature = "s"
    var parameters: [String]
  }

  /// The interface's name.
  let interface: String
  private let methods: [String: Method]
  private let properties: [String: Property]
  /// What sd-bus reads; it must not move or change while any connection serves it.
  let entries: UnsafeMutablePointer<sd_bus_vtable>
  private var strings: [UnsafeMutablePointer<CChar>] = []

  init(interface: String, methods: [Method], properties: [Property], signals: [Signal]) {
    self.interface = interface
    self.methods = Dictionary(uniqueKeysWithValues: methods.map { ($0.name, $0) })
    self.properties = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0) })
    let count = methods.count + properties.count + signals.count + 2
    entries = .allocate(capacity: count)
    // sd-bus reads unused parts of the unions too, which C would have zeroed.
    memset(entries, 0, count * MemoryLayout<sd_bus_vtable>.stride)
    entries[0].type = UInt8(_SD_BUS_VTABLE_START)
    entries[0].x.start.element_size = MemoryLayout<sd_bus_vtable>.stride
    entries[0].x.start.features = UInt64(_SD_BUS_VTABLE_PARAM_NAMES)
    entries[0].x.start.vtable_format_reference = xpb_bus_vtable_format()
    var index = 1
    for method in methods {
      fill(&entries[index], method)
      index += 1
    }
    for property in properties {
      fill(&entries[index], property)
      index += 1
    }
    for signal in signals {
      fill(&entries[index], signal)
      index += 1
    }
    entries[index].type = UInt8(_SD_BUS_VTABLE_END)
  }

  /// What the entries' functions get as user data; the table outlives every connection that serves it.
  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  private func fill(_ entry: inout sd_bus_vtable, _ method: Method) {
    entry.type = UInt8(_SD_BUS_VTABLE_METHOD)
    // The session bus serves one user only, so every peer that reaches us may call.
    entry.flags = UInt64(SD_BUS_VTABLE_UNPRIVILEGED)
    entry.x.method.member = kept(method.name)
    entry.x.method.signature = kept(method.takes.signature)
    entry.x.method.result = kept(method.gives.signature)
    entry.x.method.names = kept(names(method.takes.names + method.gives.names))
    entry.x.method.handler = { message, table, _ in BusTable.answer(message, table) }
  }

  private func fill(_ entry: inout sd_bus_vtable, _ property: Property) {
    entry.type = UInt8(_SD_BUS_VTABLE_PROPERTY)
    entry.flags = property.flags
    entry.x.property.member = kept(property.name)
    entry.x.property.signature = kept(property.signature)
    entry.x.property.get = { _, _, _, name, reply, table, _ in BusTable.read(name, reply, table) }
  }

  private func fill(_ entry: inout sd_bus_vtable, _ signal: Signal) {
    entry.type = UInt8(_SD_BUS_VTABLE_SIGNAL)
    entry.x.signal.member = kept(signal.name)
    entry.x.signal.signature = kept(signal.signature)
    entry.x.signal.names = kept(names(signal.parameters))
  }

  /// Each name with a NUL behind it; sd-bus wants one more at the end, which is the array's own.
  private func names(_ names: [String]) -> [CChar] {
    names.flatMap { Array($0.utf8CString) } + [0]
  }

  private func kept(_ text: String) -> UnsafePointer<CChar> { kept(Array(text.utf8CString)) }

  /// Memory that lives as long as the table, which is as long as the daemon.
  private func kept(_ characters: [CChar]) -> UnsafePointer<CChar> {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: characters.count)
    copy.initialize(from: characters, count: characters.count)
    strings.append(copy)
    return UnsafePointer(copy)
  }

  /// `table` is the user data given with the entries, and sd-bus calls on the main thread only.
  private nonisolated static func answer(_ message: OpaquePointer?, _ table: UnsafeMutableRawPointer?) -> Int32 {
    nonisolated(unsafe) let message = message!
    nonisolated(unsafe) let table = table!
    return MainActor.assumeIsolated {
      let table = Unmanaged<BusTable>.fromOpaque(table).takeUnretainedValue()
      guard let member = sd_bus_message_get_member(message),
        let method = table.methods[String(cString: member)]
      else { return -EBADRQC }
      do throws(SystemFailure) {
        try method.answer(BusMessage(borrowed: message))
        return 1
      } catch {
        return -error.code
      }
    }
  }

  /// As `answer`, for a property.
  private nonisolated static func read(
    _ name: UnsafePointer<CChar>?, _ reply: OpaquePointer?, _ table: UnsafeMutableRawPointer?
  ) -> Int32 {
    nonisolated(unsafe) let name = name!
    nonisolated(unsafe) let reply = reply!
    nonisolated(unsafe) let table = table!
    return MainActor.assumeIsolated {
      let table = Unmanaged<BusTable>.fromOpaque(table).takeUnretainedValue()
      guard let property = table.properties[String(cString: name)] else { return -EBADRQC }
      do throws(SystemFailure) {
        try property.write(BusMessage(borrowed: reply))
        return 1
      } catch {
        return -error.code
      }
    }
  }
}
