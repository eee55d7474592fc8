/// A request for a conversion as the protocol has it, before anything is made of it.
public struct RequestFields: Hashable, Sendable {
  /// Who asks.
  public var requestor: Window
  /// Of which selection.
  public var selection: Atom
  /// For what.
  public var target: Atom
  /// Where the answer goes; `.none` from clients before the ICCCM.
  public var property: Atom
  /// The request's time.
  public var time: ServerTime

  /// Describes a request.
  public init(requestor: Window, selection: Atom, target: Atom, property: Atom, time: ServerTime) {
    self.requestor = requestor
    self.selection = selection
    self.target = target
    self.property = property
    self.time = time
  }

  /// The same of a request that has been made something of.
  public init(_ request: ConversionRequest) {
    self.init(
      requestor: request.requestor, selection: request.selection.atom, target: request.target.atom,
      property: request.property, time: request.time)
  }
}
