import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { HandoffRefused } from '../../../src/agent/errors.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import { HOMES } from '../homes.ts'

type Facts = Readonly<Record<string, number>>
interface Move {
  readonly facts: Facts
  readonly mode: 'replace' | 'extend'
  /** By `run.step`, else by `run.handoff`. */
  readonly step: boolean
}
interface Stand {
  readonly step: number
  readonly facts: Facts
}

const facts = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 1 }), { noNullPrototype: true })
const move: fc.Arbitrary<Move> = fc.record({
  facts,
  mode: fc.constantFrom('replace' as const, 'extend' as const),
  step: fc.boolean(),
})

/** Every move fits it: only the validator can tell that one contradicts. */
const schema = {
  type: 'object',
  required: ['facts'],
  properties: { facts: { type: 'object', additionalProperties: { type: 'integer' } } },
}

/** The rule in small: facts stay, and a contradiction changes nothing. */
class Model {
  now: Stand = { step: 0, facts: {} }

  /** Whether the move is accepted. */
  moves({ facts, mode }: Move): boolean {
    const next = mode === 'extend' ? { ...this.now.facts, ...facts } : facts
    if (Object.entries(this.now.facts).some(([name, value]) => next[name] !== value)) {
      return false
    }
    this.now = { step: this.now.step + 1, facts: next }
    return true
  }
}

async function made(run: Run<null>, { facts, mode, step }: Move): Promise<boolean> {
  if (!step) return (await run.handoff({ facts }, { agent: 'b', mode, manifest: { schema } })).ok
  return run
    .step('a', () => ({ facts }), { mode, schema })
    .then(
      () => true,
      (error) => {
        assert.instance(error, HandoffRefused)
        return false
      },
    )
}

const RUNS: Readonly<Record<string, number>> = { 'in process': 40, 'over HTTP': 6 }

for (const { name, open } of HOMES) {
  const contradictions = suite(`contradictions ${name}`)

  contradictions(
    'a handoff that passes its schema and contradicts is refused, on record, and the run stands at what was accepted last (A49)',
    async () => {
      await using home = await open()
      let number = 0
      await fc.assert(
        fc.asyncProperty(fc.array(move, { maxLength: 8 }), async (moves) => {
          number += 1
          const id = `r${number}`
          const model = new Model()
          const body = async (run: Run<null>) => {
            const went = []
            for (const each of moves) {
              const accepted = await made(run, each)
              const { step, context } = await run.context()
              went.push({ accepted, step, facts: isJsonObject(context.facts) ? context.facts : {} })
            }
            return went
          }
          const went = await home.process().run({ id, policy: { ungrounded: 'off', protect: [] } }, body)
          assert.equal(
            went,
            moves.map((each) => ({ accepted: model.moves(each), ...model.now })),
          )
          assert.equal((await home.process().replay(id, body)).output, went)
          await recordedAsRefused(home.connection.events(id), went.filter(({ accepted }) => !accepted).length)
        }),
        { numRuns: RUNS[name] ?? 1 },
      )
    },
  )

  contradictions.run()
}

/** Each refusal is one event with its findings, and the rewind stands right behind it. */
async function recordedAsRefused(
  events: AsyncIterable<{ type: string; data: JsonObject }>,
  count: number,
): Promise<void> {
  const all: { type: string; data: JsonObject }[] = []
  for await (const event of events) all.push(event)
  const refused = all.flatMap((event, i) => (event.type === 'EnvelopeRejected' ? [{ event, next: all[i + 1] }] : []))
  assert.is(refused.length, count)
  for (const { event, next } of refused) {
    assert.equal([next?.type, next?.data.cause], ['RunRewound', 'contradiction'])
    const rules = (event.data.findings as readonly JsonObject[]).map(({ rule }) => rule)
    assert.ok(
      rules.length > 0 && rules.every((rule) => rule === 'contradicted' || rule === 'critical-key-removed'),
      rules.join(),
    )
  }
}
