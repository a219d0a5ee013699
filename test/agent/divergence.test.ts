import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ResumeDiverged } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, rejection, type TestHome } from './homes.ts'

const test = suite('divergence')
const inProcess = HOMES[0] as (typeof HOMES)[number]

/** A run that says `recorded`, replayed by code that says `asked`. */
async function diverged(home: TestHome, recorded: unknown, asked: unknown): Promise<ResumeDiverged> {
  const life = (cs: Countersign, what: unknown) => {
    const say = cs.tool(async (_: unknown) => null, { name: 'say', compensate: 'not-needed' })
    return () => say(what)
  }
  const [first, second] = [home.process(), home.process()]
  await first.run({ id: 'r', name: 'r' }, life(first, recorded))
  return (await rejection(second.replay('r', life(second, asked)))) as ResumeDiverged
}

test('names the first place that differs, with both values (RUN-144)', async () => {
  await using home = await inProcess.open()
  const { message, evidence } = await diverged(home, { b: [1, { c: 2 }], a: 1 }, { a: 1, b: [1, { c: 3 }] })
  assert.equal(evidence.difference, { path: '/0/b/1/c', recorded: 2, asked: 3 })
  assert.match(message, '\nat /0/b/1/c:\n- recorded: 2\n+ now:      3\n')
})

test('of long texts it shows where they part (RUN-144)', async () => {
  await using home = await inProcess.open()
  const { message } = await diverged(home, `${'x'.repeat(5_000)}one`, `${'x'.repeat(5_000)}two`)
  assert.match(message, /- recorded: …"x+one"\n\+ now: {6}…"x+two"/)
})

test('names the line of the program that asked (RUN-144)', async () => {
  await using home = await inProcess.open()
  const { message, evidence } = await diverged(home, 1, 2)
  assert.match(String(evidence.line), /test[/\\]agent[/\\]divergence\.test\.[jt]s:\d+:\d+$/)
  assert.match(message, `\nasked at ${evidence.line}`)
})

test('names the cause that the two values show (RUN-144)', async () => {
  await using home = await inProcess.open()
  const causes = async (recorded: unknown, asked: unknown): Promise<string> => {
    await using other = await inProcess.open()
    return String((await diverged(other, recorded, asked)).evidence.causes)
  }
  assert.match(await causes('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'), 'run.now()')
  assert.match(
    await causes('8c0f6f2e-9d6f-4d0c-9a53-0f0a3c1d2e3f', 'a2a6e3f8-6a0d-4b7e-8f5e-9b1c2d3e4f50'),
    'run.uuid()',
  )
  assert.match(await causes('a', 'b'), 'run.patched(id)')
  // Text made of a result by a release that handed live code the author's order.
  const { message } = await diverged(home, '{"id":1,"cents":2}', '{"cents":2,"id":1}')
  assert.match(message, 'recorded before live code was handed the order of the record')
})

test('a handoff that differs is told likewise (RUN-144)', async () => {
  await using home = await inProcess.open()
  const life =
    (payload: object) => async (run: { handoff(payload: object, options: { agent: string }): Promise<unknown> }) =>
      void (await run.handoff(payload, { agent: 'a' }))
  const cs = home.process()
  await cs.run({ id: 'h', name: 'h' }, life({ qty: 6 }))
  const error = (await rejection(cs.replay('h', life({ qty: 5 })))) as ResumeDiverged
  assert.equal(error.evidence.difference, { path: '/payload/qty', recorded: 6, asked: 5 })
})

test.run()
