import Testing

@testable import Tray

struct TrayIconTests {
  private func pixel(_ pixels: [UInt8], _ side: Int, _ x: Int, _ y: Int) -> [UInt8] {
    Array(pixels[(y * side + x) * 4..<(y * side + x) * 4 + 4])
  }

  @Test(arguments: TraySign.allCases, TrayIcon.sides) func isAShield(_ sign: TraySign, _ side: Int) {
    let pixels = TrayIcon.pixels(sign, side: side)
    #expect(pixels.count == side * side * 4)
    for (x, y) in [(0, 0), (side - 1, 0), (0, side - 1), (side - 1, side - 1)] {
      #expect(pixel(pixels, side, x, y)[0] == 0, "clear in the corners")
    }
    // Left of the mark, in the shield's colour: alpha comes first, then red.
    let field = pixel(pixels, side, side * 22 / 100, side * 3 / 10)
    #expect(field[0] == 255)
    let colours: [TraySign: [UInt8]] = [
      .guarding: [0x2e, 0x7d, 0x4f], .attention: [0xc7, 0x77, 0x00], .lockdown: [0xb3, 0x26, 0x1e],
    ]
    #expect(Array(field[1...]) == colours[sign])
    for row in 0..<side {
      for column in 0..<side / 2 {
        let mirrored = pixel(pixels, side, side - 1 - column, row)[0]
        #expect(pixel(pixels, side, column, row)[0] == mirrored, "alike on both sides at \(column), \(row)")
      }
    }
  }

  /// People who don't see colours tell them by the mark.
  @Test func marksDiffer() {
    let white = TraySign.allCases.map { sign in
      let pixels = TrayIcon.pixels(sign, side: 48)
      return stride(from: 0, to: pixels.count, by: 4).map { pixels[$0 + 1] == 250 && pixels[$0 + 3] == 250 }
    }
    #expect(Set(white).count == TraySign.allCases.count)
    for marks in white { #expect(marks.count { $0 } > 100) }
  }
}
