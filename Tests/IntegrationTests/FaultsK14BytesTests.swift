import Foundation
import Testing

extension IntegrationTests {
  /// Content is bytes with a length: no terminator, no trimming, no line-end change.
  @Suite(.serialized) struct K14Bytes {
    @Test(
      "bytes in are bytes out: B132 B133 B134 B136 B138",
      arguments: [
        "74657374", "610062", "00", "6c696e650a", "2020780920", "610d62", "0d0a0d0a", "efbbbf61", "ff00fe0a", "c3",
      ])
    func sameBytes(hex: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING hex:\(hex)", "target application/octet-stream hex:\(hex)")
        owner.quit()
        for target in ["UTF8_STRING", "application/octet-stream"] {
          let answer = try scene.paster.convert(target, "hex=yes")
          #expect(answer.text("hex") == hex, "\(target)")
          #expect(answer.number("bytes") == hex.count / 2)
        }
      }
    }

    @Test(
      "and so at the borders of chunks, in whatever chunks they come: B001 B002 B006 B007",
      arguments: [
        (4000, 4000), (4001, 4000), (8001, 4000), (262_143, 65_536), (262_144, 262_144), (262_145, 4096),
        (1_048_577, 300_000),
      ])
    func chunkBorders(size: Int, chunk: Int) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target text/html size:\(size) chunk=\(chunk)", "target UTF8_STRING size:\(size)")
        owner.quit()
        for target in ["text/html", "UTF8_STRING"] {
          let answer = try scene.paster.convert(target, "out=\(scene.paster.contentPath)")
          expectSame(try scene.paster.content(of: answer), countingBytes(size), target)
          #expect(answer.text("type") == target)
        }
      }
    }
  }
}
