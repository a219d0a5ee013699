import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExampleRun } from './examples-child.ts'
import { cleanEnv, runCommand } from './support/command-line.ts'
import { bundledProgram } from './support/program.ts'
import { tempFolder } from './support/temp-folder.ts'

const examples = suite('examples')

/** All but the one whose process dies: in one process, which has no key and needs no network. */
const NAMES = [
  'first',
  'first',
  'order-saga',
  'large-values',
  'parallel-saga',
  'repair',
  'approval',
  'waiting',
  'retries',
  'billing',
  'nested-runs',
  'doubt',
  'replay',
  'scripted-loop',
  'three-agents',
  'manifest',
  'fork-join',
  'branch',
]
const CHILD = bundledProgram('test/examples-child.js')
let runs: readonly ExampleRun[] = []

examples.before(async () => {
  const env = { ...cleanEnv(), COUNTERSIGN_TEST_EXAMPLES: JSON.stringify(NAMES) }
  const { code, stdout, stderr } = await runCommand([process.execPath, CHILD], { env })
  assert.is(code, 0, stderr)
  runs = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ExampleRun)
})

/** What an example printed; `time` counts from 0. */
function printed(name: string, time = 0): readonly string[] {
  const run = runs.filter((each) => each.name === name)[time]
  assert.is(run?.error, undefined)
  return run?.lines ?? []
}

examples('first: the run gives its output; run again, its record', () => {
  assert.equal(printed('first'), ['charging 2500 to card-1', 'label for payment-1'])
  assert.equal(printed('first', 1), ['label for payment-1'])
})

examples('order saga: undone newest first, what stands is said', () => {
  assert.equal(printed('order-saga'), [
    'put back book x 2',
    'refund 2500 cents of p-1',
    'no carrier goes to Atlantis',
    'PARTLY_COMPENSATED: undone pay, reserve; standing notify',
  ])
})

examples('large values: by reference, refused as an answer, and as a digest alone', () => {
  assert.equal(printed('large-values'), [
    'search Oslo',
    'search Norway',
    'search Norway',
    '1000 rooms in Oslo, 2000 in Norway',
    'the export has the digests',
    'replayed exactly, without a search',
    'what the doctor said is not-recorded',
  ])
})

examples('parallel saga: the last group first, the report says each step', () => {
  const lines = printed('parallel-saga')
  assert.is(lines[0], 'SUCCESS')
  assert.equal(lines.slice(1, 3).sort(), ['cancel car in Oslo', 'cancel hotel in Oslo'])
  assert.is(lines[3], 'cancel flight in Oslo')
  assert.match(lines[4] ?? '', /^saga saga:1 of run trip-2: COMPENSATED /)
  assert.match(lines[6] ?? '', /^ {2}1 +flight +compensated +1/)
  assert.match(lines[9] ?? '', /^ {2}3 +pay +failed +1 .*card declined$/)
})

examples('repair: refused, the agent is shown what was established, and says why it changed', () => {
  assert.equal(printed('repair'), [
    '- contradicted at /order/qty: was established with another value; keep it, or supersede it with a reason (established: 6; you gave: 5)',
    'accepted at try 2: superseded /order/qty 6 -> 5',
  ])
})

examples(
  'approval: over the limit nothing is paid before somebody else said yes, and then once, while every process was dead',
  () => {
    assert.equal(printed('approval'), [
      'small: paid 90000',
      'large: waits for an approval',
      'tara sees pay {"cents":250000,"invoice":"invoice-2"}: over 1,000.00',
      'granted',
      'large, resumed: paid 250000',
      'large, once more: paid 250000',
      'another: waits for an approval',
      'tara sees pay {"cents":990000,"invoice":"invoice-3"}: over 1,000.00',
      'denied',
      'another, resumed: the call of pay was not approved and did not run: no such supplier',
      'bank: invoice-1 90000, invoice-2 250000',
    ])
  },
)

examples(
  'waiting: an order waits for a delivery over lives of its process, and is rolled back where none comes in time',
  () => {
    assert.equal(printed('waiting'), [
      'order-1: waits for the signal delivered',
      'carrier: the payload does not fit the schema of the wait for it; the wait goes on',
      'carrier: delivered',
      'order-1, resumed: parcel p-7',
      'order-2: not delivered in time, and rolled back',
      'replay: exact',
      'shop: charged order-1, charged order-2, refunded order-2',
    ])
  },
)

examples('retries: of the tool alone, and of the whole saga', () => {
  assert.equal(printed('retries'), [
    'scope tool: SUCCESS after 3 attempts, the saga begun 1 time',
    'hold a seat',
    'let the seat go',
    'hold a seat',
    'scope transaction: SUCCESS, the saga begun 2 times',
  ])
})

examples('billing: the call that might overshoot is refused before it is made, and what was sent is undone', () => {
  assert.equal(printed('billing'), [
    'the model is asked: write to Ada',
    'the model is asked: write to Bob',
    'void the invoice for Bob',
    'void the invoice for Ada',
    'budget-exceeded: up to 0.0030775 more, of 0.008 USD 0.00544 are spent',
    'COMPENSATED',
  ])
})

examples('crash and resume: one charge', async () => {
  using folder = tempFolder()
  const program = bundledProgram('examples/crash-and-resume.js')
  const { code, stdout, stderr } = await runCommand([process.execPath, program], { cwd: folder.path, env: cleanEnv() })
  assert.is(code, 0, stderr)
  assert.equal(stdout.trim().split('\n'), ['the first process ended by SIGKILL', 'label 36', 'charges: 1'])
})

examples('webhook: the receiver checks what it is told, and finds no arguments in it', async () => {
  const program = bundledProgram('examples/webhook.js')
  const { code, stdout, stderr } = await runCommand([process.execPath, program], { env: cleanEnv() })
  assert.is(code, 0, stderr)
  assert.equal(stdout.trim().split('\n'), [
    'the payment waits',
    'told: approval.requested, pay of run invoice-7',
    'decide at: /ui/runs/invoice-7/approvals/...',
    'arguments: not told, only their digest',
  ])
})

examples('nested runs: resumed and undone with the run around them', () => {
  assert.equal(printed('nested-runs'), [
    "[ 'truck to Bern', 'truck to Basel' ]",
    'no more than two trucks a day: COMPENSATED',
    'cancelled truck to Chur, cancelled truck to Basel, cancelled truck to Bern, refunded 2500',
  ])
})

examples('doubt: resolved by hand, and undone', () => {
  assert.equal(printed('doubt'), [
    'released 2 seats',
    'whether charge was executed is not known: IN_DOUBT',
    'in doubt: charge [2500]',
    'refunded 2500 of p-7, once by 36 characters',
    'order: COMPENSATED',
  ])
})

examples('replay: served from the record, and the first divergence', () => {
  const lines = printed('replay')
  assert.equal(lines.slice(0, 2), ['searching Oslo', 'booking Oslo Inn'])
  assert.match(lines[2] ?? '', /^exact: 2 calls served, output \{.*"b-1".*\}$/)
  assert.match(lines[3] ?? '', /^replay-diverged: \{"tool":"book","args":\["Oslo Inn",3\]/)
  assert.is(lines.length, 4)
})

examples('scripted loop: the model hears what the tools said, and mends its mistake', () => {
  assert.equal(printed('scripted-loop'), [
    'find_flights: ["HAT070","HAT069"]',
    'book_flight: HAT070 is full: take another flight',
    'book_flight: {"booking":"b-HAT069"}',
    'Done: {"booking":"b-HAT069"}',
  ])
})

examples('three agents: a contradiction is refused with its findings, rewound and mended', () => {
  assert.equal(printed('three-agents'), [
    'refused: contradicted at /facts/revenue: 391 billion is no 400 billion',
    'the analyst was asked 2 times',
    'the writer was shown facts, analysis, not entities',
    'keys of the context: analysis, entities, facts, text',
    'handoff-refused: manifest-violation; back at step 3',
    'Revenue 391 billion: in line with the forecasts.',
  ])
})

examples('manifest: an agent that returns its own section only is accepted, and the entities stay', () => {
  assert.equal(printed('manifest'), ['{"analysis":"growth at 5%","entities":["Apple"],"summary":"revenue up"}'])
})

examples('fork and join: each strategy, what lost is undone, a conflict is named', () => {
  const lines = [...printed('fork-join')]
  assert.equal([...lines.splice(1, 2)].sort(), ['hold a room at Inn', 'hold a room at Palace'])
  assert.equal(lines, [
    'union of weather and guide: {"facts":["two nights in Oslo","rain on Sunday"],"guests":2,"museums":["Munch","Fram"]}',
    'let go of h-Palace',
    'vote: Inn before Palace',
    'race: hasty refused, tram merged, taxi aborted',
    'fork-conflict: branches made different things of /budget (thrifty, lavish): the context is unchanged',
    'step 4: {"facts":["two nights in Oslo","rain on Sunday"],"guests":2,"museums":["Munch","Fram"],"price":120,"room":{"hold":"h-Inn","hotel":"Inn"},"transfer":"tram"}',
  ])
})

examples('branch: replayed, branched from a step, and stopped where it has not come that way', () => {
  assert.equal(printed('branch'), [
    'researching sales',
    'writing, sober',
    'replay exact: sober: sales doubled',
    'writing, playful',
    'branch: playful: sales doubled',
    'branch-diverged: asked for {"tool":"research","args":["costs"],"scope":null,"occurrence":0}',
  ])
})

examples.run()
