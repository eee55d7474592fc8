@preconcurrency import CX11
import Selection

// Clients that have closed their connection with RetainPermanent or RetainTemporary (XSetCloseDownMode). The server keeps
// what they made and goes on listing them, with the process that had connected; X-Resource doesn't tell them from others.
extension Display {
  /// Those of the clients with these resource bases that are certain to have no connection any more; none where the server
  /// has no RECORD extension.
  ///
  /// RECORD takes no client that isn't at work (BadMatch). That is one which has ended, or one whose connection isn't set up
  /// yet; the second has made nothing so far. Clients come and go while they are asked about, so what is found counts only
  /// while the server names the same process for the client afterwards.
  public func retainedClients(among bases: some Collection<UInt32>) -> Set<UInt32> {
    guard namesPrograms, let recordOpcode, !bases.isEmpty, !isLost else { return [] }
    let context = xcb.generateID()
    // A context that is never enabled records nothing.
    let made = xcb.createRecordContext(context, opcode: recordOpcode)
    let asked = bases.map { base in
      (base, xcb.resQueryClientResources(of: base), xcb.forgetRecordClient(base, of: context, opcode: recordOpcode))
    }
    let freed = xcb.freeRecordContext(context, opcode: recordOpcode)
    var retained: Set<UInt32> = []
    for (base, resources, check) in asked {
      let hasMadeSomething = ClientList.hasResources(xcb.reply(to: resources))
      let error = xcb.outcomes(of: [check])[0]
      let isAtWork = error.map { $0.code != XError.badMatch || $0.majorOpcode != recordOpcode } ?? true
      if hasMadeSomething, !isAtWork { retained.insert(base) }
    }
    _ = xcb.outcomes(of: [made, freed])
    return retained
  }
}

extension ClientList {
  /// Whether a reply to QueryClientResources has any.
  static func hasResources(_ reply: consuming Reply?) -> Bool {
    // The number of kinds at 8.
    guard let reply else { return false }
    return reply.word(at: 8) > 0
  }
}

// RECORD's three requests that are needed, written out.
extension XcbConnection {
  /// XResQueryClientResources of one client.
  func resQueryClientResources(of client: UInt32) -> Serial {
    Serial(number: xcb_res_query_client_resources(raw, client).sequence)
  }

  /// RecordCreateContext without clients and ranges, checked.
  func createRecordContext(_ context: UInt32, opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 1)
    words.append(word: context)
    // No element header, no clients, no ranges.
    for _ in 0..<3 { words.append(word: 0) }
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }

  /// RecordUnregisterClients of one client, checked.
  func forgetRecordClient(_ client: UInt32, of context: UInt32, opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 3)
    words.append(word: context)
    words.append(word: 1)
    words.append(word: client)
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }

  /// RecordFreeContext, checked.
  func freeRecordContext(_ context: UInt32, opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 7)
    words.append(word: context)
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }
}
