import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, NO_WAIT, type TestHome } from './homes.ts'

const test = suite('equal calls')
const inProcess = HOMES[0] as (typeof HOMES)[number]

/** The tools that a warning names while `work` goes on. */
async function warnedOf(work: (home: TestHome) => Promise<unknown>): Promise<string[]> {
  const warned: string[] = []
  const hear = (warning: Error & { code?: string }): void => {
    if (warning.code === 'COUNTERSIGN_SAME_CALL') warned.push(warning.message.split(' ')[0] ?? '')
  }
  process.on('warning', hear)
  try {
    await using home = await inProcess.open()
    await work(home)
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('warning', hear)
  }
  return warned
}

const pay = (cs: Countersign, options = {}) =>
  cs.tool(async (cents: number) => cents, { name: 'pay', compensate: 'not-needed', ...options })

test('a second equal call that is given the first one’s result is warned of, once a tool in a process (RUN-145)', async () => {
  const warned = await warnedOf(async (home) => {
    for (const name of ['r', 's']) {
      const cs = home.process()
      const paid = pay(cs)
      await cs.run({ name }, async () => [await paid(5), await paid(5), await paid(5), await paid(6)])
      await cs.run({ name: `${name}2` }, async () => Promise.all([paid(5), paid(5)]))
    }
  })
  assert.equal(warned, ['pay'])
})

test('calls that are made side by side are warned of, too (RUN-145)', async () => {
  const warned = await warnedOf(async (home) => {
    const cs = home.process()
    const paid = pay(cs, { name: 'beside' })
    await cs.run({ name: 'r' }, async () => Promise.all([paid(5), paid(5)]))
  })
  assert.equal(warned, ['beside'])
})

test('who says dedupe or key, or tries again what failed, is not warned (RUN-145)', async () => {
  const warned = await warnedOf(async (home) => {
    const cs = home.process()
    const [one, two, three] = [
      pay(cs, { name: 'one', dedupe: 'args' }),
      pay(cs, { name: 'two', dedupe: 'position' }),
      pay(cs, { name: 'three', key: () => 'k' }),
    ]
    let tries = 0
    const flaky = cs.tool(
      async (_: number) => {
        tries += 1
        if (tries === 1) throw new Error('busy')
      },
      { name: 'flaky', compensate: 'not-needed', backoff: NO_WAIT },
    )
    const body = async (): Promise<void> => {
      for (const each of [one, two, three]) await Promise.all([each(5), each(5)])
      await flaky(1).catch(() => flaky(1))
    }
    await cs.run({ id: 'r', name: 'r' }, body)
    await cs.replay('r', body)
  })
  assert.equal(warned, [])
})

test.run()
