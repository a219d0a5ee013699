/** @module Rows in the other order, in bounded memory. */

const ROWS_KEPT = 20_000

/** The same rows, the last one first. Of more than are kept the others are made again, from the first one on. */
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
