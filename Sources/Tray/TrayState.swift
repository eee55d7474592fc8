/// What there is to show: names, numbers and rules. No content of a clip and no title of a window can be said with it.
public struct TrayState: Hashable, Sendable {
  /// How the policy files stand.
  public enum Standing: Hashable, Sendable, CaseIterable {
    /// What they say is in force.
    case inForce
    /// They have errors; what they said before is still in force.
    case lastGood
    /// They have had errors since the start; only same-app copy and paste is allowed.
    case locked
  }

  /// A program that took part.
  public struct Party: Hashable, Sendable {
    /// What people call it.
    public var name: String
    /// The name with what is known of it.
    public var description: String

    /// Names a program.
    public init(_ name: String, _ description: String) { (self.name, self.description) = (name, description) }
  }

  /// One refusal, or several that are alike but for their time.
  public struct Refusal: Hashable, Sendable {
    /// What was refused, in a word: copy, cut, paste.
    public var action: String
    /// Who copied; `nil` where there was no clip.
    public var source: Party?
    /// Who wanted it; `nil` for a copy.
    public var destination: Party?
    /// The rule's name, or what decided in the place of a rule.
    public var reason: String
    /// The rule's file and line; `nil` where no file decided.
    public var place: String?
    /// What the rule says to the person.
    public var message: String?
    /// How often.
    public var count: Int
    /// When, the last time, as hours and minutes.
    public var clock: String

    /// Describes a refusal.
    public init(
      action: String, source: Party? = nil, destination: Party? = nil, reason: String, place: String? = nil,
      message: String? = nil, count: Int = 1, clock: String
    ) {
      self.action = action
      self.source = source
      self.destination = destination
      self.reason = reason
      self.place = place
      self.message = message
      self.count = count
      self.clock = clock
    }
  }

  /// A board and how many items are on it.
  public struct BoardLine: Hashable, Sendable {
    /// Its name.
    public var name: String
    /// Its items.
    public var items: Int

    /// Describes a board.
    public init(name: String, items: Int) { (self.name, self.items) = (name, items) }
  }

  /// The display that is guarded.
  public var display: String
  /// How the policy files stand.
  public var standing: Standing
  /// The same in a sentence.
  public var summary: String
  /// The first error of the policy files, with its place.
  public var fault: String?
  /// Whether what the policy refuses is refused, or only written down.
  public var isEnforced = true
  /// Whether the person has locked everything but same-app copy and paste down.
  public var isLockedDown = false
  /// Whether the policy lets the person lift that.
  public var liftsLockdown = true
  /// The last refusals, the newest first.
  public var refusals: [Refusal] = []
  /// The policy's boards, by name.
  public var boards: [BoardLine] = []

  /// A display under a policy, nothing refused so far.
  public init(display: String, standing: Standing = .inForce, summary: String) {
    self.display = display
    self.standing = standing
    self.summary = summary
  }
}

/// The sign that stands in the panel.
public enum TraySign: String, Hashable, Sendable, CaseIterable {
  /// All is well.
  case guarding
  /// The policy files have errors.
  case attention
  /// Everything but same-app copy and paste is refused, because the person wants it so.
  case lockdown

  /// The icon's name in an icon theme.
  public var iconName: String { "xpastebridge-\(rawValue)" }
}

/// The item's properties that change (StatusNotifierItem; freedesktop.org, "Status Notifier Item").
public struct TrayFace: Hashable, Sendable {
  /// The sign.
  public var sign: TraySign
  /// `Active`, or `NeedsAttention` while the policy files have errors.
  public var status: String
  /// The first line, in few words.
  public var headline: String
  /// What the tool tip says below it, in the markup that hosts read there.
  public var description: String

  /// The face that a state has.
  public init(_ state: TrayState) {
    sign = state.isLockedDown ? .lockdown : state.standing == .inForce ? .guarding : .attention
    status = state.standing == .inForce ? "Active" : "NeedsAttention"
    headline =
      switch (state.isLockedDown, state.standing) {
      case (true, _): "Lockdown on \(state.display)"
      case (false, .inForce): "Guarding \(state.display)"
      case (false, .lastGood): "Guarding \(state.display), policy files have errors"
      case (false, .locked): "Locked on \(state.display): policy files have errors"
      }
    let lines = [state.summary, state.fault, state.isEnforced ? nil : TrayMenu.trialLine]
    description = lines.compactMap { $0.map(Self.escaped) }.joined(separator: "<br/>")
  }

  /// Spelt so that it is no markup.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "&": result += "&amp;"
      default: result.append(character)
      }
    }
  }
}
