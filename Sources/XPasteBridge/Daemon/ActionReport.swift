extension StatusReport {
  /// Presses held back for a decision, and who watches over them.
  static func presses(_ status: PressStatus) -> JSON {
    .object([
      "heldBack": .bool(status.isHeldBack),
      "watchdog": status.watchdog.map { .integer(Int($0)) },
      "freed": .integer(status.freed),
    ])
  }

  /// Keys held back, and whose they can't be.
  static func actions(_ status: ActionStatus) -> JSON {
    .object([
      "windows": .integer(status.windows),
      "guarded": .integer(status.guardedWindows),
      "holdsBackKeys": .bool(status.canHoldBack),
      "followsCuts": .bool(status.followsCuts),
      "followsPastes": .bool(status.followsPastes),
      "lock": .object([
        "standing": .string(status.lock.standing.rawValue),
        "windows": .integer(status.lock.windows),
        "taken": .integer(status.lock.taken),
        "lapsed": .integer(status.lock.lapsed),
        "swallowed": .integer(status.lock.swallowed),
        "pastes": .integer(status.lock.pastes),
        "openPastes": .integer(status.lock.openPastes),
      ]),
      "occupied": .array(
        status.occupied.map { keys in
          .object([
            "window": .integer(Int(keys.window.id)),
            "app": RecordJSON.subject(keys.subject),
            "keys": .strings(keys.chords),
          ])
        }),
    ])
  }
}
