/** @module Rows in reverse order, in bounded memory. */

const ROWS_KEPT = 20_000

/** The same rows, last one first. If there are more than fit in memory, the earlier ones are produced again from the start. */
export async function* turned<T>(rows: () => AsyncIterable<T>, rowsKept = ROWS_KEPT): AsyncGenerator<T, void> {
  for (let end = Number.POSITIVE_INFINITY; end > 0; ) {
    const kept: T[] = []
    let count = 0
    for await (const row of rows()) {
      if (count === end) break
      count += 1
      kept.push(row)
      if (kept.length === 2 * rowsKept) kept.splice(0, rowsKept)
    }
    end = count - kept.length
    yield* kept.reverse()
  }
}
