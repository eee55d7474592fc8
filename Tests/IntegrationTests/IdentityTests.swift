import Foundation
import Testing

extension IntegrationTests {
  /// Every real program, as source and as requestor, is known by class, executable and pid.
  @Suite(.serialized) struct IdentityTests {
    private func named(_ kind: ProgramKind) -> String? {
      kind == .tk ? kind.windowClass?.lowercased().capitalized : kind.windowClass
    }

    @Test("who copies is in the audit and among the clients", arguments: ProgramKind.allCases)
    func source(kind: ProgramKind) throws {
      try Scene.run { scene in
        let program = try kind.start(on: scene.desktop)
        try program.copy(Sample.ascii.bytes)
        let line = try #require(try scene.bridge.audit().last { $0.action == "copy" }, "a record of the copy")
        #expect(line.source?.windowClass == named(kind))
        #expect(line.source?.executable == kind.executable)
        // xclip and xsel fork, and end as soon as they have lost the selection: that their pid is the living child's is
        // asked in HolderTests, and `clients` can't show them any more.
        let hasEnded = kind == .xclip || kind == .xsel
        if hasEnded {
          #expect(line.source?.pid != nil)
        } else {
          #expect(line.source?.pid == program.pid.map(Int.init))
        }
        #expect(line.bytes >= Sample.ascii.bytes.count)
        #expect(line.targets.contains("UTF8_STRING"))
        let clients = String(describing: try scene.bridge.json("clients"))
        if !hasEnded { #expect(clients.contains(kind.executable), "\(clients.prefix(600))") }
        if let name = named(kind) { #expect(clients.contains(name)) }
      }
    }

    @Test("who pastes is in the audit", arguments: ProgramKind.allCases)
    func destination(kind: ProgramKind) throws {
      try Scene.run { scene in
        _ = try scene.copied("class owner Owner", "target UTF8_STRING text:abc")
        let program = try kind.start(on: scene.desktop)
        #expect(try program.paste(expecting: 3) == Data("abc".utf8))
        let line = try #require(
          try scene.bridge.audit().last { $0.action == "paste" && $0.destination?.executable == kind.executable },
          "a record of the paste by \(kind.executable)")
        #expect(line.destination?.windowClass == named(kind))
        if kind != .xclip, kind != .xsel { #expect(line.destination?.pid == program.pid.map(Int.init)) }
        #expect(line.source?.windowClass == "Owner")
        #expect(line.decision == "allow")
        #expect(line.outcome == "served")
      }
    }
  }
}
