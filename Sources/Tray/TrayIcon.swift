/// The sign as pixels, for hosts whose icon theme doesn't have it: a shield in the state's colour with a tick, an
/// exclamation mark or a padlock on it. `data/icons` has the same shapes.
public enum TrayIcon {
  /// The sides that are drawn, in pixels (our choice: a usual panel's, and one for screens of twice the density).
  public static let sides = [24, 48]

  /// Samples of a pixel along each side; the edges are as smooth as these are many.
  private static let samples = 4

  private struct Place {
    var x: Double
    var y: Double
  }

  /// `side` rows of as many pixels, each of four bytes: alpha, red, green, blue (ARGB32 in network byte order, the colours
  /// not multiplied by alpha).
  public static func pixels(_ sign: TraySign, side: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(side * side * 4)
    for row in 0..<side {
      for column in 0..<side { bytes += pixel(sign, column: column, row: row, side: side) }
    }
    return bytes
  }

  private static func pixel(_ sign: TraySign, column: Int, row: Int, side: Int) -> [UInt8] {
    var sum = (red: 0, green: 0, blue: 0)
    var covered = 0
    for number in 0..<samples * samples {
      let x = (Double(column) + (Double(number % samples) + 0.5) / Double(samples)) / Double(side)
      let y = (Double(row) + (Double(number / samples) + 0.5) / Double(samples)) / Double(side)
      guard let colour = colour(of: sign, at: Place(x: x, y: y)) else { continue }
      covered += 1
      sum = (sum.red + colour.red, sum.green + colour.green, sum.blue + colour.blue)
    }
    guard covered > 0 else { return [0, 0, 0, 0] }
    return [covered * 255 / (samples * samples), sum.red / covered, sum.green / covered, sum.blue / covered]
      .map { UInt8($0) }
  }

  /// The colour at a place of the unit square; `nil` outside of the shield.
  private static func colour(of sign: TraySign, at place: Place) -> (red: Int, green: Int, blue: Int)? {
    guard isInShield(place) else { return nil }
    // The rim is what is left between the shield and a smaller one; it and the mark are white on any panel.
    let inner = Place(x: (place.x - 0.5) / 0.86 + 0.5, y: (place.y - 0.5) / 0.86 + 0.5)
    guard isInShield(inner), !isInMark(of: sign, place) else { return (250, 250, 250) }
    switch sign {
    case .guarding: return (0x2e, 0x7d, 0x4f)
    case .attention: return (0xc7, 0x77, 0x00)
    case .lockdown: return (0xb3, 0x26, 0x1e)
    }
  }

  private static func isInShield(_ place: Place) -> Bool {
    let offset = abs(place.x - 0.5)
    guard offset <= 0.4, place.y >= 0.06 + offset * 0.15 else { return false }
    guard place.y > 0.5 else { return true }
    let fall = (place.y - 0.5) / 0.44
    return offset <= 0.4 * (1 - fall * fall)
  }

  private static func isInMark(of sign: TraySign, _ place: Place) -> Bool {
    switch sign {
    case .guarding:
      return isNear(place, (0.32, 0.48), (0.45, 0.62), by: 0.06) || isNear(place, (0.45, 0.62), (0.69, 0.33), by: 0.06)
    case .attention:
      return isNear(place, (0.5, 0.25), (0.5, 0.52), by: 0.065) || isNear(place, (0.5, 0.7), (0.5, 0.7), by: 0.065)
    case .lockdown:
      let isInBody = abs(place.x - 0.5) <= 0.18 && place.y >= 0.44 && place.y <= 0.7
      let (x, y) = (place.x - 0.5, place.y - 0.44)
      let distance = x * x + y * y
      return isInBody || (y < 0 && distance >= 0.0081 && distance <= 0.0225)
    }
  }

  /// Whether a place is at most `reach` away from the line between two.
  private static func isNear(
    _ place: Place, _ start: (x: Double, y: Double), _ end: (x: Double, y: Double), by reach: Double
  ) -> Bool {
    let (dx, dy) = (end.x - start.x, end.y - start.y)
    let length = dx * dx + dy * dy
    let along = length == 0 ? 0 : ((place.x - start.x) * dx + (place.y - start.y) * dy) / length
    let part = min(1, max(0, along))
    let (x, y) = (place.x - start.x - part * dx, place.y - start.y - part * dy)
    return x * x + y * y <= reach * reach
  }
}
