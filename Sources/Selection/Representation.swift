/// One form of a clip: what a conversion to `target` gave, byte for byte.
public struct Representation: Hashable, Sendable {
  /// What it was converted to.
  public var target: Target
  /// The property type the owner gave.
  public var type: NamedAtom
  /// 8, 16 or 32 bits an item, as the owner gave it.
  public var format: Int
  /// The bytes; items of 32 bits take 4 bytes each.
  public var payload: Payload

  /// Describes one form of a clip.
  public init(target: Target, type: NamedAtom, format: Int, payload: Payload) {
    self.target = target
    self.type = type
    self.format = format
    self.payload = payload
  }
}
