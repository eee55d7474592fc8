import Foundation

/// One JSON object that a test program, the daemon or the audit file wrote.
struct Event: CustomStringConvertible {
  let fields: [String: Any]

  init(_ fields: [String: Any]) { self.fields = fields }

  init(line: Data, from place: String) throws {
    guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else {
      let text = String(decoding: line.prefix(200), as: UTF8.self)
      throw HarnessError(place, expected: "a line with a JSON object", found: "`\(text)`")
    }
    fields = object
  }

  var name: String { text("event") ?? "" }
  func text(_ key: String) -> String? { fields[key] as? String }
  func number(_ key: String) -> Int? { (fields[key] as? NSNumber)?.intValue }
  func flag(_ key: String) -> Bool { (fields[key] as? NSNumber)?.boolValue ?? false }
  func list(_ key: String) -> [String] { fields[key] as? [String] ?? [] }
  func numbers(_ key: String) -> [Int] { (fields[key] as? [NSNumber])?.map(\.intValue) ?? [] }
  func object(_ key: String) -> Event? { (fields[key] as? [String: Any]).map(Event.init) }

  /// Bytes written in hexadecimal, as the test clients write them: megabytes of them, so each digit costs little.
  func bytes(_ key: String) -> Data? {
    guard let digits = text(key) else { return nil }
    var bytes = [UInt8](repeating: 0, count: digits.utf8.count / 2)
    bytes.withUnsafeMutableBufferPointer { bytes in
      var high: UInt8?
      var index = 0
      for digit in digits.utf8 {
        let value = digit < 0x40 ? digit &- 0x30 : digit &- 0x57
        if let first = high {
          bytes[index] = first << 4 | value
          (high, index) = (nil, index + 1)
        } else {
          high = value
        }
      }
    }
    return Data(bytes)
  }

  var description: String {
    let data = try? JSONSerialization.data(withJSONObject: fields, options: [.sortedKeys])
    return String(decoding: (data ?? Data()).prefix(600), as: UTF8.self)
  }
}
