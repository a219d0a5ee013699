/** @module A progress bar on stderr for long work; silent if stderr is not a terminal. */
const REDRAW_MS = 100
const WIDTH = 24
const MS_PER_SECOND = 1_000

export interface Progress {
  /** `done` is the count so far; cheap enough to call for every page. */
  readonly report: (done: number) => void
  /** Removes the bar; call this before anything else is printed. */
  readonly end: () => void
}

export interface ProgressOptions {
  /** The unit of the count, such as `events`. */
  readonly unit: string
  /** Undefined if the end is not known. */
  readonly total?: number | undefined
  readonly stream?: NodeJS.WriteStream
}

export function startProgress({ unit, total, stream = process.stderr }: ProgressOptions): Progress {
  if (stream.isTTY !== true) return { report: () => {}, end: () => {} }
  const startedMs = performance.now()
  let drawnMs = startedMs
  const report = (done: number): void => {
    const nowMs = performance.now()
    if (nowMs - drawnMs < REDRAW_MS) return
    drawnMs = nowMs
    const rate = Math.round((done * MS_PER_SECOND) / (nowMs - startedMs))
    stream.write(`\r\u001b[K${bar(done, total)} ${done} ${unit}, ${rate}/s`)
  }
  return { report, end: () => void stream.write('\r\u001b[K') }
}

function bar(done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return ''
  const filled = Math.min(WIDTH, Math.floor((done / total) * WIDTH))
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`
}
