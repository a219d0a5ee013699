import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../src/agent/open.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: erase')

const NAME = 'Zephyrine Quackenbush'
const CONTROL = 'an order of plain paper'
const customer = { id: 's1', name: NAME }

/** A run of the runtime, whose code is replayed as well. */
async function withRun<T>(path: string, work: (cs: Awaited<ReturnType<typeof open>>) => Promise<T>): Promise<T> {
  const cs = await open({ path })
  try {
    return await work(cs)
  } finally {
    await cs.close()
  }
}

const shipping = (cs: Awaited<ReturnType<typeof open>>) => {
  const ship = cs.tool(async function ship(order: { customer: typeof customer; what: string }) {
    return { customer: order.customer, label: CONTROL }
  })
  return async () => ({ customer: (await ship({ customer, what: CONTROL })).customer })
}
const OPTIONS = {
  name: 'order',
  id: 'o1',
  policy: { redaction: [{ name: 'customer', at: ['/**/customer'], keep: { subject: '/customer/id' } }] },
}

const bytesIn = (folder: string): Buffer =>
  Buffer.concat(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name))),
  )

test('after erase nothing in the data folder, in an export or in a bundle holds the value, what was handed out before verifies, and a replay says so (LIFE-2, LIFE-5, LIFE-7)', async () => {
  using folder = tempFolder()
  using out = tempFolder()
  const ask = (...args: string[]) => runInProcess([...args, '--data', folder.path])
  const code = (cs: Awaited<ReturnType<typeof open>>) => shipping(cs)
  await withRun(folder.path, async (cs) => {
    const body = code(cs)
    assert.equal(await cs.run(OPTIONS, body), { customer })
    assert.equal((await cs.replay('o1', body)).output, { customer }, 'the control: it is read while its key exists')
  })
  writeFileSync(out.file('note'), (await ask('checkpoint')).stdout)
  assert.is((await ask('export', '--out', out.file('before.jsonl'))).code, 0)
  assert.is((await ask('export', '--run', 'o1', '--bundle', out.file('b.tar'))).code, 0)

  const usage = await ask('erase', '--subject', 's1', '--reason', 'asked')
  assert.is(usage.code, 2)
  assert.match(usage.stderr, '--basis')
  const erased = await ask('erase', '--subject', 's1', '--reason', 'asked', '--basis', 'GDPR 17', '--json')
  assert.is(erased.code, 0)
  assert.equal(JSON.parse(erased.stdout).counts, { runs: 1, events: 3, values: 3 })

  assert.is((await ask('export', '--run', 'o1', '--out', out.file('after.jsonl'))).code, 0)
  for (const place of [folder.path, out.path]) {
    const bytes = bytesIn(place)
    assert.ok(bytes.includes(CONTROL), 'the control: what is not kept is found')
    for (const word of [NAME, 'Quackenbush']) assert.not.ok(bytes.includes(word), `${word} in ${place}`)
  }
  for (const args of [
    ['verify', '--checkpoint', out.file('note')],
    ['verify', out.file('before.jsonl')],
    ['verify', out.file('b.tar')],
  ]) {
    const verified = await ask(...args)
    assert.is(verified.code, 0, `${args}: ${verified.stdout}${verified.stderr}`)
  }
  await withRun(folder.path, async (cs) => {
    await cs.replay('o1', code(cs)).then(
      () => assert.unreachable(),
      (error: { code?: string }) => assert.is(error.code, 'result-redacted'),
    )
  })
})

test.run()
