import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// What each kind of rule decides about a copy of each kind of program, by how certain it is who it is.
  @Suite(.serialized) struct DoubtTableTests {
    /// How certain it is who copies.
    private enum Identity: String, CaseIterable {
      case attested
      /// It has connected and forked, beside another that has.
      case forked
      /// The same out of sight, so that nobody knows who has the connection now.
      case unsure
      case remoteWithClass = "remote, with a class"
      case remoteWithout = "remote, without"

      var isRemote: Bool { self == .remoteWithClass || self == .remoteWithout }
      var origin: String { isRemote ? "remote" : isCertain ? "local" : "unknown" }
      var isXclip: Bool { self == .forked || self == .unsure }
      var isCertain: Bool { self == .attested || self == .forked }
    }

    private struct Row {
      let name: String
      /// `EXE` is the program's path.
      let rules: String
      /// Those whose copy another program gets; of the unsure one a rule always could be about it, or that of a grant not.
      let served: Set<Identity>
    }

    private static let rows = [
      Row(
        name: "deny by exe", rules: "rules: [{name: r, from: {exe: EXE}, decision: deny}]\ndefault: allow",
        served: [.remoteWithClass, .remoteWithout]),
      Row(
        name: "grant by exe", rules: "rules: [{name: r, from: {exe: EXE}, decision: allow}]\ndefault: deny",
        served: [.attested, .forked]),
      Row(
        name: "deny by not", rules: "rules: [{name: r, from: {not: {exe: EXE}}, decision: deny}]\ndefault: allow",
        served: [.attested, .forked]),
      Row(
        name: "private",
        rules: "rules: [{name: r, apps: {exe: EXE}, actions: [copy, cut], decision: private}]\ndefault: allow",
        served: [.remoteWithClass, .remoteWithout]),
      Row(
        name: "deny a group",
        rules: "groups: {g: [{exe: EXE}, {class: Nobody}]}\nrules: [{name: r, from: g, decision: deny}]\n"
          + "default: allow",
        served: [.remoteWithClass, .remoteWithout]),
      Row(
        name: "deny remote", rules: "rules: [{name: r, from: remote, decision: deny}]\ndefault: allow",
        served: [.attested, .forked]),
      Row(
        name: "deny a class", rules: "rules: [{name: r, from: {class: Ledger}, decision: deny}]\ndefault: allow",
        served: [.attested, .forked, .remoteWithout]),
      Row(
        name: "deny the unsure", rules: "rules: [{name: r, from: unknown, decision: deny}]\ndefault: allow",
        served: [.attested, .forked, .remoteWithClass, .remoteWithout]),
    ]

    @Test("identities by rules") func table() throws {
      let desktop = try Desktop(takesTCP: true)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, policy: Bridge.allowAll)
      let client = try Place.clients.get() + "/xpb-owner"
      // It connects and forks as well.
      let other = try desktop.start("/usr/bin/xsel", ["-i", "-p"], keepsOutput: false)
      other.send(Data("aside".utf8))
      other.closeInput()
      for row in Self.rows {
        for identity in Identity.allCases {
          let path = identity.isXclip ? "/usr/bin/xclip" : client
          try bridge.replacePolicy("version: 1\n" + row.rules.replacingOccurrences(of: "EXE", with: path) + "\n")
          let text = "\(row.name), \(identity.rawValue)"
          let end = try copy(text, as: identity, client, on: desktop)
          try bridge.sync()
          let got = try desktop.requestor().text()
          #expect(got == (row.served.contains(identity) ? text : nil), "\(text)")
          let copied = try #require(try bridge.audit().last { ["copy", "cut"].contains($0.action) })
          #expect(copied.source?.origin == identity.origin, "\(text)")
          #expect((copied.source?.executable == nil) == !identity.isCertain, "\(text)")
          end()
        }
      }
      other.end()
      try bridge.stop()
    }

    /// Copies; what is returned ends the program.
    private func copy(
      _ text: String, as identity: Identity, _ client: String, on desktop: Desktop
    ) throws -> () -> Void {
      let content = try desktop.file("content", Data(text.utf8))
      if identity.isXclip {
        // In a network name space of its own the kernel doesn't show us who has which socket.
        let hides = ["/usr/bin/unshare"] + (getuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--net"]
        let words = (identity == .unsure ? hides : []) + ["/usr/bin/xclip", "-selection", "clipboard"]
        let xclip = CommandLineProgram(desktop, words[0], copy: Array(words.dropFirst()), paste: [])
        try xclip.copy(Data(text.utf8))
        return { xclip.exit() }
      }
      let display = (identity.isRemote ? "127.0.0.1" : "") + desktop.display
      let owner = Owner(try desktop.start(client, ["--display", display]), alive: desktop.alive)
      try owner.wait("windows")
      if identity == .remoteWithClass { try owner.tell("class ledger Ledger") }
      try owner.tell("target UTF8_STRING file:\(content)")
      try owner.claim()
      return { owner.quit() }
    }
  }
}
