import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type RetentionClass, RetentionClasses } from '../../schemas/retention.ts'
import { judgeRetention, type RetainedRun } from '../../src/domain/retention.ts'

const test = suite('classes of retention')

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-27T12:00:00.000Z')
const daysAgo = (days: number): string => new Date(NOW_MS - days * DAY_MS).toISOString()

const classes: readonly RetentionClass[] = RetentionClasses.parse({
  retention: [
    { class: 'tests', match: { tag: 'test' }, keep: { atMost: 1 }, action: 'archive' },
    { class: 'failed', match: { name: 'job', status: 'failed' }, keep: { atLeast: 5, atMost: 400 }, action: 'archive' },
    { class: 'acme', tenant: 'acme', match: { name: 'job' }, keep: { atMost: 30 }, action: 'archive' },
  ],
}).retention

const ended: RetainedRun = {
  ...{ runId: 'r', name: 'job', tags: [], status: 'completed', updatedAt: daysAgo(31) },
  ...{ openCalls: 0, inDoubtCalls: 0 },
}

const judged = (run: Partial<RetainedRun>, { tenant = 'acme', hold = undefined as string | undefined } = {}) => {
  const found = judgeRetention({ ...ended, ...run }, { tenant, classes, nowMs: NOW_MS, holdOn: () => hold })
  return found.kind === 'due'
    ? ['due', found.class]
    : [found.why, found.class, found.hold].filter((each) => each !== undefined)
}

test('the first class that matches a run decides, by its name, tags, status, tenant and the age of its last event (LIFE-53)', () => {
  assert.equal(judged({}), ['due', 'acme'])
  assert.equal(judged({}, { tenant: 'other' }), ['unclassed'])
  assert.equal(judged({ name: 'other' }), ['unclassed'])
  assert.equal(judged({ tags: ['x', 'test'], updatedAt: daysAgo(2) }, { tenant: 'other' }), ['due', 'tests'])
  assert.equal(judged({ status: 'failed' }), ['young', 'failed'], 'a later class that would match does not count')
  assert.equal(judged({ updatedAt: daysAgo(30) }), ['due', 'acme'], 'due at the very end of its term')
  assert.equal(judged({ updatedAt: new Date(NOW_MS - 30 * DAY_MS + 1).toISOString() }), ['young', 'acme'])
  assert.equal(judged({ updatedAt: 'not a time' }), ['young', 'acme'], 'a time that cannot be read makes nothing due')
})

test('what is open, held, in doubt or damaged stays, however old it is, and the hold is named (LIFE-54)', () => {
  assert.equal(judged({ status: 'open' }), ['open'])
  assert.equal(judged({}, { hold: 'h1' }), ['held', 'acme', 'h1'])
  assert.equal(judged({ openCalls: 1 }), ['in-doubt', 'acme'])
  assert.equal(judged({ inDoubtCalls: 1 }), ['in-doubt', 'acme'])
  assert.equal(judged({ compensation: 'IN_DOUBT' }), ['in-doubt', 'acme'])
  assert.equal(judged({ seal: 'invalid' }), ['damaged', 'acme'])
})

test('classes that contradict themselves, or that this version does not know, are refused (LIFE-53)', () => {
  const one = { class: 'a', keep: { atMost: 1 }, action: 'archive' }
  const isTaken = (...retention: readonly object[]) => RetentionClasses.safeParse({ retention }).success
  assert.ok(isTaken(one))
  assert.not.ok(isTaken(one, one), 'two of one name')
  assert.not.ok(isTaken({ ...one, keep: { atLeast: 2, atMost: 1 } }))
  assert.not.ok(isTaken({ ...one, action: 'erase' }))
  assert.not.ok(isTaken({ ...one, match: { status: 'open' } }))
  assert.not.ok(isTaken({ ...one, keep: { atMost: 1.5 } }))
  assert.not.ok(isTaken({ ...one, more: true }))
})

test.run()
