import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createSessions } from '../../src/dashboard/sessions.ts'
import { storyFor } from '../../src/dashboard/story/story-cache.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { MemoryBudget, type ShareName, weigh } from '../../src/resources/memory-budget.ts'
import type { Principal } from '../../src/signing/tokens.ts'

const caches = suite('what the dashboard remembers')

const MIB = 1024 * 1024

const principalOf = (subject: string): Principal => ({
  tenant: 'acme',
  actor: subject,
  subject,
  scopes: new Set(['runs:read']),
  expiresAt: 10_000,
})

const shareOf = (memory: MemoryBudget, name: ShareName) => {
  const share = memory.snapshot().find((each) => each.name === name)
  if (share === undefined) throw new Error(name)
  return share
}

caches(
  'sessions of any number of subjects hold their share in bytes; one subject pushes out its own alone (F77)',
  () => {
    const memory = new MemoryBudget(8 * MIB)
    const sessions = createSessions(() => 0, memory)
    const kept = sessions.create('token', principalOf('kept'))
    const own = Array.from({ length: 25 }, () => sessions.create('token', principalOf('busy')))
    assert.is(own.filter((cookie) => sessions.find(cookie) !== undefined).length, 20)
    assert.ok(sessions.find(kept) !== undefined)
    const gone = sessions.find(own[24])
    if (gone !== undefined) sessions.end(gone)
    assert.ok(gone?.over.signal.aborted === true && sessions.find(own[24]) === undefined)
    for (let i = 0; i < 2_000; i += 1)
      sessions.create(`token ${i} ${'x'.repeat(500)}`, principalOf(`s${i} ${'y'.repeat(200)}`))
    const { usedBytes, limitBytes } = shareOf(memory, 'sessions')
    assert.ok(usedBytes > limitBytes / 2 && usedBytes <= limitBytes, `${usedBytes} of ${limitBytes}`)
  },
)

caches('a story weighs what its marks take, however long the words in them (F77)', async () => {
  const memory = new MemoryBudget(32 * MIB)
  const reason = '\u4e00'.repeat(4_096)
  const eventsOf = (from: number, to: number): readonly LedgerEvent[] =>
    Array.from({ length: to - from + 1 }, (_, i) => {
      const data = {
        v: 1,
        reason,
        fromStep: 1,
        toStep: 0,
        snapshot: 0,
        cause: 'rollback',
        context: 'c',
        callsSince: [],
      }
      const time = '2024-01-01T00:00:00.000Z'
      return { header: { type: 'RunRewound', revision: from + i, time }, data } as unknown as LedgerEvent
    })
  const runEvents = async (_: unknown, __: string, { from, to }: { from: number; to: number }) => ({
    ok: true,
    revision: to,
    value: (async function* () {
      yield eventsOf(from, to)
    })(),
  })
  const ledger = { runEvents } as unknown as Ledger
  for (let run = 0; run < 12; run += 1) {
    const story = await storyFor(
      { ledger, memory },
      { tenant: 'acme', actor: 'a' },
      { run: `r${run}`, revision: 199, window: { from: 0, to: 0 } },
    )
    const { usedBytes, limitBytes } = shareOf(memory, 'stories')
    assert.ok(usedBytes <= limitBytes, `${usedBytes} of ${limitBytes}`)
    if (run === 0) assert.ok(usedBytes >= weigh(story.marks), `${usedBytes} for ${weigh(story.marks)}`)
  }
})

caches.run()
