import Foundation
import Testing

extension IntegrationTests {
  /// Any content up to MAX is captured and served whole, whichever way the peer uses and whatever the size.
  @Suite(.serialized) struct K01Large {
    /// Copies, ends the owner, and pastes three times.
    private func carries(_ size: Int, _ options: String = "", type: String = "UTF8_STRING") throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING size:\(size) \(options)")
        owner.quit()
        for _ in 1...3 {
          let answer = try scene.paster.convert("UTF8_STRING", "out=\(scene.paster.contentPath)")
          expectSame(try scene.paster.content(of: answer), countingBytes(size), "\(size) bytes, \(options)")
          #expect(answer.text("type") == type)
          #expect(answer.number("us") ?? .max < 5_000_000, "no paste as slow as T_idle")
        }
      }
    }

    @Test("around the sizes where owners change their way: B001 B006", arguments: [262_143, 262_145, 1_048_576])
    func borders(size: Int) throws {
      for near in [size - 1, size, size + 1] { try carries(near) }
    }

    @Test("in chunks of 4000 bytes: B002", arguments: [4000, 4001, 7999, 8000, 8001, 8002, 8009])
    func smallChunks(size: Int) throws { try carries(size, "chunk=4000") }

    @Test("the announced size is never content, true or false: B003", arguments: [0, 1, 4_001, 4_000_000_000])
    func announced(hint: Int) throws { try carries(4_001, "chunk=4001 hint=\(hint)") }

    @Test("types of chunks are the content's: B007", arguments: ["UTF8_STRING", "text/html", "STRING"])
    func chunkTypes(type: String) throws { try carries(600_000, "chunk=100000 type=\(type)", type: type) }

    @Test("16 MiB through the daemon in under 5 s: B010")
    func sixteenMebibytes() throws {
      try Scene.run { scene in
        let begun = Deadline.now
        let owner = try scene.copied("target application/x-raw size:16M")
        let path = scene.desktop.path("out")
        try scene.paster.convert("application/x-raw", "out=\(path)")
        let needed = (Deadline.now - begun) / 1_000_000
        #expect(needed < 5_000, "found \(needed) ms")
        owner.quit()
        expectSame(try Data(contentsOf: URL(fileURLWithPath: path)), countingBytes(16 << 20), "16 MiB")
      }
    }

    @Test(
      "chunks that lie about themselves harm nobody: B007",
      arguments: [
        "chunk=10000 chunk-format=16", "chunk=10000 chunk-format=32", "chunk=10000 chunk-type=INCR",
        "chunk=10000 chunk-type=#4000000000", "chunk=10000 hint=-1",
      ])
    func lyingChunks(options: String) throws {
      try Scene.run(policy: Bridge.limiting("idle-timeout: 300ms, capture-timeout: 1s")) { scene in
        let liar = try scene.claimed("target UTF8_STRING text:beside", "target x/lie size:40000 \(options)")
        _ = try waitUntil(within: 3) { try liar.status().flag("owned") == false }
        try scene.expectOthersServed(Data("beside".utf8))
        _ = try scene.paster.convert("x/lie")
        try scene.expectNextCopy()
      }
    }
  }
}
