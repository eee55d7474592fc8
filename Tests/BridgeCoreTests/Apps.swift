import Policy

/// Local apps of the scenarios.
enum Apps {
  static func local(_ pid: Int32, _ windowClass: String?, _ exe: String) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: UInt64(pid) * 10)),
      windowClass: windowClass.map { Fact($0, .declared) }, executable: Fact(exe, .attested))
  }

  static let ledger = local(100, "Ledger", "/opt/ledger/bin/ledger")
  static let ledgerAgain = local(101, "Ledger", "/opt/ledger/bin/ledger")
  static let report = local(110, "Report", "/opt/ledger/bin/report")
  static let browser = local(200, "Browser", "/usr/bin/browser")
  static let vault = local(300, "Vault", "/usr/bin/vault")
  static let tool = local(400, nil, "/usr/bin/tool")
}
