import { writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PlacePolicy } from '../../../schemas/place-policy.ts'
import { placePolicy } from '../../../src/agent/pipeline/check-policy.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { TEST_SEED } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { mustBeSame } from '../../support/twin-log.ts'
import { codeOf, HOMES } from '../homes.ts'

const policies = suite('policies of manifests')

const PLACE = fc.constantFrom(
  '/orders',
  '/orders/*/total',
  '/a~1b',
  '',
  'orders',
  '/a~2',
  `/${'x'.repeat(511)}`,
  '/a'.repeat(33),
)
const WORD = fc.constantFrom(
  'sequence',
  'set',
  'up',
  'off',
  'warn',
  'sure',
  'reject',
  'record',
  'hold',
  'none',
  'refuse',
  '',
)
const NUMBER = fc.constantFrom(0, 1, 0.5, 2, -1, 1025, Number.NaN, Number.POSITIVE_INFINITY)
const NAMES = fc.array(fc.constantFrom('a', 'total', '', 'n'.repeat(257)), { maxLength: 5 })
const EXPRESSION = fc.constantFrom(
  'after.total >= 0',
  'all(after.items, qty > 0)',
  'total >= 0',
  'args.cents > 5',
  'after.',
  '',
)
const some = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record({ ...members, more: fc.constant(1) }, { requiredKeys: [] }).map((made) =>
    // Few of them have a member that nobody knows.
    Object.keys(made).length % 5 === 0
      ? made
      : Object.fromEntries(Object.entries(made).filter(([name]) => name !== 'more')),
  )
const byPlace = (value: fc.Arbitrary<unknown>) => fc.dictionary(PLACE, value, { maxKeys: 2 })
const RULE = some({
  tools: NAMES,
  when: EXPRESSION,
  reason: fc.constantFrom('why', '', 'r'.repeat(1025)),
  quorum: NUMBER,
  roles: NAMES,
  expiresMs: fc.constantFrom(999, 1_000, 5_000.5, 1e12),
  selfApproval: fc.constantFrom(true, 'yes'),
  onDenied: fc.constantFrom('error', 'rollback', 'none'),
})
const MEMBERS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  lists: byPlace(fc.oneof(WORD, some({ key: NAMES }))),
  monotonic: byPlace(WORD),
  tolerance: byPlace(some({ absolute: NUMBER, relative: NUMBER })),
  immutable: fc.array(PLACE, { maxLength: 3 }),
  invariants: fc.array(some({ name: fc.constantFrom('n', ''), expression: EXPRESSION }), { maxLength: 2 }),
  supersede: some({ roles: NAMES, reasonMinChars: NUMBER, never: fc.array(PLACE, { maxLength: 2 }) }),
  minConfidence: NUMBER,
  restated: WORD,
  ungrounded: WORD,
  judge: WORD,
  overshoot: WORD,
  evidence: fc.array(
    some({ tool: fc.constantFrom('t', ''), untrusted: fc.constantFrom(true, false), moves: fc.array(PLACE) }),
    {
      maxLength: 2,
    },
  ),
  suspect: WORD,
  declare: fc.constantFrom('reasoned', 'none', 'all'),
  enforce: WORD,
  approve: fc.array(RULE, { maxLength: 2 }),
  protect: fc.constant(['orders']),
}
const ODD = fc.constantFrom(null, 'default', 3, [], [1], {})
const ONE_MEMBER = fc
  .constantFrom(...Object.keys(MEMBERS))
  .chain((name) =>
    fc
      .oneof({ weight: 9, arbitrary: MEMBERS[name] as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: ODD })
      .map((value) => ({ [name]: value })),
  )
const POLICY = fc.oneof(
  { weight: 8, arbitrary: ONE_MEMBER },
  { weight: 2, arbitrary: fc.tuple(ONE_MEMBER, ONE_MEMBER).map(([a, b]) => ({ ...a, ...b })) },
  {
    weight: 1,
    arbitrary: fc.constant({ invariants: [{ name: 'long', expression: `after.${'a'.repeat(33_000)} > 0` }] }),
  },
)

policies('what is refused before it is requested is what the ledger refuses unread, and nothing else (RUN-233)', () => {
  let fit = 0
  const numRuns = rounds(600, 5_000, 20_000)
  fc.assert(
    fc.property(POLICY, (policy) => {
      const { success } = PlacePolicy.safeParse(policy)
      if (success) fit += 1
      assert.is(placePolicy(policy) === undefined, success, JSON.stringify(placePolicy(policy)))
    }),
    { numRuns, seed: TEST_SEED },
  )
  assert.ok(fit > numRuns / 20 && fit < numRuns / 1.2, `${fit} of ${numRuns} fit`)
  assert.ok(placePolicy([]) !== undefined && placePolicy('relay') !== undefined)
})

/** Hands over under each policy, and goes on after what is refused: all that it sees, in order. */
const handsOver = (log: string[]) => async (run: Run<null>) => {
  const see = (what: unknown): void => void log.push(JSON.stringify(what))
  const manifests = [
    { lists: { '/items': { key: ['id'] } } },
    { invariants: [{ name: 'some', expression: 'after.n >= 0' }] },
    { invariants: [{ name: 'some', expression: 'n >= 0' }] },
    { overshot: 'refuse' },
    { immutable: ['n'] },
    { overshoot: 'refuse' },
    undefined,
  ] as never[]
  for (const [n, policy] of manifests.entries()) {
    const given = { items: [{ id: 1, z: n, a: 'x' }], n: n === 1 ? -1 : n }
    const manifest = { manifest: { policy, reads: ['n', 'items'] } }
    try {
      see(await run.handoff(given, { agent: 'author', mode: 'extend', ...manifest }))
      see((await run.step('writer', (context) => ({ seen: [n, JSON.stringify(context)] }), manifest)).payload)
    } catch (error) {
      if (String(codeOf(error)).endsWith('-diverged')) throw error
      see([codeOf(error), (error as Error).message])
    }
    see((await run.context()).context)
  }
  return log.length
}

for (const { name, open } of HOMES) {
  policies(
    `${name}: code under policies of manifests sees the same live, replayed, and replayed from a file elsewhere (RUN-194, RUN-233)`,
    async () => {
      using folder = tempFolder()
      await using home = await open()
      await using elsewhere = await open()
      const life = async (
        work: (cs: Countersign, body: ReturnType<typeof handsOver>) => Promise<unknown>,
        at = home,
      ) => {
        const log: string[] = []
        await work(at.process(), handsOver(log))
        return log
      }
      const live = await life((cs, body) => cs.run({ id: 'r', name: 'r' }, body))
      const invalid = live.filter((line) => line.startsWith('["invalid-option"'))
      assert.is(invalid.length, 3, live.join('\n'))
      assert.match(invalid.join(), 'did you mean overshoot?')
      let text = ''
      for await (const part of home.connection.exportRun('r')) text += part
      const file = folder.file('r.jsonl')
      writeFileSync(file, text)
      mustBeSame(await life((cs, body) => cs.replay('r', body as never)), live, 'replayed')
      mustBeSame(await life((cs, body) => cs.replay({ file }, body as never)), live, 'replayed from a file')
      mustBeSame(await life((cs, body) => cs.replay({ file }, body as never), elsewhere), live, 'replayed elsewhere')
    },
  )
}

policies.run()
