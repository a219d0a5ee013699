import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Outcome } from '../../../src/ledger/ledger.ts'
import { openSqliteSubjects } from '../../../src/store/sqlite/sqlite-subjects.ts'
import type { SubjectStore } from '../../../src/store/subject-store.ts'
import { collect } from '../../support/records.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'
import { openUnsharedStore } from '../../support/test-store.ts'

const test = suite('erasures that are cut short')

const NAME = 'Zephyrine Quackenbush'
const REQUEST = { reason: 'asked', basis: 'GDPR 17' }
/** What an erasure writes to the file of the keys, in order. */
const STEPS = ['close', 'noteRequest', 'destroy', 'noteDone'] as const

class Crash extends Error {}

/** The file of a process that dies at one call, before or behind it. */
function dyingAt(store: SubjectStore, step: (typeof STEPS)[number], behind: boolean): SubjectStore {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      // The file outlives its process.
      if (name === Symbol.dispose) return () => undefined
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (name !== step) return Reflect.apply(member, target, args)
        if (behind) Reflect.apply(member, target, args)
        throw new Crash()
      }
    },
  })
}

const done = (outcome: Outcome): JsonObject => {
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return outcome.body
}

const typesIn = (headers: readonly { readonly header: string }[]): string[] =>
  headers.map(({ header }) => JSON.parse(header).type).filter((type) => /^(Erasure|Subject)/.test(type))

for (const step of STEPS) {
  for (const behind of [false, true]) {
    const when = behind ? 'behind' : 'before'
    test(`a process that dies ${when} ${step} leaves an erasure that the next one, or the same request, ends (LIFE-7)`, async () => {
      await using store = await openUnsharedStore()
      using subjects = openSqliteSubjects(':memory:')
      const dying = await testLedger({ store, rotates: true, subjects: dyingAt(subjects, step, behind) })
      const input = { name: NAME, id: 's' }
      const policy = { redaction: [{ name: 'person', at: ['/input/name'], keep: { subject: '/id' } }] }
      done(await dying.run('r', { kind: 'start', body: { id: 'r', name: 'r', input, policy } }))
      done(await dying.run('r', { kind: 'complete', body: {} }))
      await dying.ledger.subjects.erase(alice, 's', REQUEST).then(
        () => assert.unreachable(),
        (error: unknown) => assert.instance(error, Crash),
      )
      await dying.ledger[Symbol.asyncDispose]()
      const keys = dying.keys.current()
      await using next = await testLedger({ store, keys, rotates: true, subjects: undying(subjects) })
      const again = await next.ledger.subjects.erase(alice, 's', REQUEST)
      assert.ok(again.ok)
      assert.is(again.value.status === 'waiting', false)
      const [key] = subjects.inState('open', 'closing', 'erased', 'done')
      assert.equal([key?.wrapped, key?.subject, key?.state], [null, null, 'done'])
      const types = typesIn(await collect(next.store.readAll()))
      assert.is(types[0], 'ErasureRequested')
      assert.ok(types.includes('SubjectErased'))
      const found = await next.ledger.runEvents(alice, 'r', { from: 0, kept: true })
      assert.ok(found.ok)
      for await (const page of found.value) for (const { kept } of page) assert.equal(kept?.values ?? {}, {})
    })
  }
}

const undying = (store: SubjectStore): SubjectStore =>
  new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.dispose) return () => undefined
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

test.run()
