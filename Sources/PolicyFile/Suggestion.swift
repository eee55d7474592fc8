/// Finds the word that somebody probably meant.
enum Suggestion {
  /// The word nearest to `typed`, if it is near: a third of the letters wrong at most, or only the case.
  static func nearest(to typed: String, among words: some Sequence<String>) -> String? {
    guard typed.count <= 64 else { return nil }
    let limit = max(1, typed.count / 3)
    let letters = Array(typed.lowercased())
    var best: (word: String, distance: Int)?
    for word in words where abs(word.count - letters.count) <= limit {
      let distance = distance(letters, Array(word.lowercased()))
      if distance <= limit, distance < best?.distance ?? .max { best = (word, distance) }
    }
    return best?.word
  }

  /// `did you mean …`, or the words there are when they are few.
  static func hint(for typed: String, among words: [String]) -> String? {
    if let word = nearest(to: typed, among: words) { return "did you mean `\(word)`?" }
    guard !words.isEmpty, words.count <= 24 else { return nil }
    return "possible: " + words.map { "`\($0)`" }.joined(separator: " ")
  }

  /// Insertions, deletions, changes and swaps of neighbours that make one of the other.
  private static func distance(_ lhs: [Character], _ rhs: [Character]) -> Int {
    var previous: [Int] = []
    var row = Array(0...rhs.count)
    for i in 1..<(lhs.count + 1) {
      let above = row
      row[0] = i
      for j in 1..<(rhs.count + 1) {
        let change = above[j - 1] + (lhs[i - 1] == rhs[j - 1] ? 0 : 1)
        row[j] = min(above[j] + 1, row[j - 1] + 1, change)
        if i > 1, j > 1, lhs[i - 1] == rhs[j - 2], lhs[i - 2] == rhs[j - 1] {
          row[j] = min(row[j], previous[j - 2] + 1)
        }
      }
      previous = above
    }
    return row[rhs.count]
  }
}
