import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Pace, ReaderLeftError, WorkQueue } from '../../src/resources/work-queue.ts'

const queue = suite('work queue')

/** A clock that stands still but for the work done: what is due runs when the turn that the work began in is over. */
class Clock {
  nowMs = 0
  readonly #due: { readonly atMs: number; readonly call: () => void }[] = []

  readonly effects = {
    nowMs: () => this.nowMs,
    soon: (call: () => void) => void this.#due.push({ atMs: this.nowMs, call }),
    later: (call: () => void, ms: number) => void this.#due.push({ atMs: this.nowMs + ms, call }),
  }

  /** Runs what is due, one after the other, until the clock says so or nothing is left. */
  async runUntil(endMs: number): Promise<void> {
    while (this.#due.length > 0 && this.nowMs < endMs) {
      this.#due.sort((a, b) => a.atMs - b.atMs)
      const next = this.#due.shift()
      this.nowMs = Math.max(this.nowMs, next?.atMs ?? 0)
      next?.call()
      await new Promise(setImmediate)
    }
  }
}

/** Works on for ever, in pieces of so many milliseconds. */
async function read(clock: Clock, pace: Pace, pieceMs: number, done: { ms: number; longestMs: number }): Promise<void> {
  let slice = 0
  try {
    for (;;) {
      const wait = pace.turn()
      if (wait !== undefined) slice = 0
      if (wait !== undefined) await wait
      clock.nowMs += pieceMs
      done.ms += pieceMs
      slice += pieceMs
      done.longestMs = Math.max(done.longestMs, slice)
    }
  } catch (error) {
    if (!(error instanceof ReaderLeftError)) throw error
  }
}

const none = () => ({ ms: 0, longestMs: 0 })

queue('one tenant with sixteen readers gets no more than one with a single reader (A70)', async () => {
  const clock = new Clock()
  const work = new WorkQueue(clock.effects)
  const [many, one] = [none(), none()]
  for (let i = 0; i < 16; i += 1) void read(clock, work.begin({ tenant: 'many', caller: `c${i}` }), 0.7, many)
  void read(clock, work.begin({ tenant: 'one', caller: 'c' }), 0.7, one)
  await clock.runUntil(1_000)
  assert.ok(Math.abs(many.ms - one.ms) <= 5, `${many.ms} and ${one.ms} ms`)
  assert.ok(many.ms + one.ms > 990, 'and no time is wasted while nobody writes')
})

queue('within a tenant no caller gets more than another, however many readers it has', async () => {
  const clock = new Clock()
  const work = new WorkQueue(clock.effects)
  const [many, one] = [none(), none()]
  for (let i = 0; i < 8; i += 1) void read(clock, work.begin({ tenant: 't', caller: 'many' }), 0.7, many)
  void read(clock, work.begin({ tenant: 't', caller: 'one' }), 0.7, one)
  await clock.runUntil(1_000)
  assert.ok(Math.abs(many.ms - one.ms) <= 5, `${many.ms} and ${one.ms} ms`)
})

queue('a slice ends with the first look after two milliseconds', async () => {
  const clock = new Clock()
  const work = new WorkQueue(clock.effects)
  const done = none()
  void read(clock, work.begin({ tenant: 't', caller: 'c' }), 0.3, done)
  await clock.runUntil(100)
  assert.ok(done.longestMs > 1.9 && done.longestMs <= 2.3, `${done.longestMs} ms`)
})

queue(
  'a write meets one slice at most, and while writes go on readers have a share that is small but not nothing',
  async () => {
    const clock = new Clock()
    const work = new WorkQueue(clock.effects)
    const done = none()
    for (let i = 0; i < 16; i += 1) void read(clock, work.begin({ tenant: 't', caller: `c${i}` }), 0.7, done)
    await clock.runUntil(10)
    const before = done.ms
    for (let n = 0; n < 200; n += 1) {
      const atMs = done.ms
      const written = work.writes.begin()
      await clock.runUntil(clock.nowMs + 3)
      written()
      assert.ok(done.ms - atMs <= 2.9, `${done.ms - atMs} ms of reading within one write`)
    }
    const share = (done.ms - before) / (clock.nowMs - 10)
    assert.ok(share > 0.05 && share < 0.4, `${share}`)

    // One that never ends keeps nobody out for ever.
    const stuck = work.writes.begin()
    const atMs = done.ms
    await clock.runUntil(clock.nowMs + 1_000)
    assert.ok(done.ms - atMs > 50, `${done.ms - atMs} ms beside a write that hangs`)
    stuck()
  },
)

queue('a reader that waits for its own reader is charged for its work, not for the wait', async () => {
  const clock = new Clock()
  const work = new WorkQueue(clock.effects)
  const [slow, other] = [work.begin({ tenant: 'slow', caller: 'c' }), none()]
  const piece = async (): Promise<void> => {
    await slow.turn()
    clock.nowMs += 1
  }
  for (let n = 0; n < 20; n += 1) {
    const done = piece()
    await clock.runUntil(clock.nowMs + 50)
    await done
    // Nobody takes what was made, for a whole second; meanwhile somebody writes.
    work.writes.begin()()
    clock.nowMs += 1_000
  }
  assert.ok(work.worked.ms < 30, `${work.worked.ms} ms for twenty pieces of one millisecond`)
  void read(clock, work.begin({ tenant: 'other', caller: 'c' }), 0.7, other)
  await clock.runUntil(clock.nowMs + 50)
  assert.ok(other.ms > 5, `${other.ms}`)
})

queue('a reader that has left gets no slice: what waits for one is ended', async () => {
  const clock = new Clock()
  const work = new WorkQueue(clock.effects)
  let gone = false
  const pace = work.begin({ tenant: 't', caller: 'c' }, () => gone)
  const waits = [pace.turn(), pace.turn()]
  for (const wait of waits) wait?.catch(() => undefined)
  gone = true
  await clock.runUntil(50)
  for (const wait of waits) {
    const ended = await Promise.resolve(wait).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.instance(ended, ReaderLeftError)
  }
  assert.throws(() => pace.turn(), /left/)
  const other = work.begin({ tenant: 't', caller: 'c' })
  other.leave()
  assert.throws(() => other.turn(), /left/)
  assert.is(work.waiting, 0)
})

queue(
  'readers that come and go under ever new names leave no trace beyond a few hundred, while others wait all the time (F77)',
  async () => {
    const clock = new Clock()
    const work = new WorkQueue(clock.effects)
    const stays = none()
    void read(clock, work.begin({ tenant: 'stays', caller: 'c' }), 0.7, stays)
    for (let i = 0; i < 3_000; i += 1) {
      const pace = work.begin({ tenant: i % 2 === 0 ? `t${i}` : 'stays', caller: `c${i}` })
      void read(clock, pace, 0.7, none())
      await clock.runUntil(clock.nowMs + 5)
      pace.leave()
    }
    assert.ok(work.parties < 1_200, `${work.parties}`)
    const before = stays.ms
    await clock.runUntil(clock.nowMs + 100)
    assert.ok(stays.ms > before, 'and who stayed goes on')
  },
)

queue.run()
