import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../src/agent/open.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { codeOf, HOMES, killedAfter, rejection, type TestHome } from './homes.ts'

const EMAIL = 'alice.liddell@example.com'
const SECRETS = ['liddell', '4111 1111', '4111111111111111', 'hunter22', 'sk-live4Zq']
const policy = {
  redaction: [
    { name: 'email', find: ['email'] },
    { name: 'card', find: ['card'] },
    { name: 'token', find: ['secret'] },
    { name: 'password', at: ['/**/password'] },
  ],
} as const
const RULES = { redaction: policy.redaction.map((rule) => ({ ...rule })) } as never

for (const home of HOMES) {
  const test = suite(`redaction, ${home.name}`)

  test('a run lives on what it was given, and a resume that needs a result that was left out halts (RUN-98, A249)', async () => {
    await using at = await home.open()
    const body = (cs: Countersign, seen: unknown[]) => {
      const look = cs.tool(async (to: string) => ({ mail: `${to}.${EMAIL}` }), { name: 'look' })
      return async () => {
        seen.push((await look(EMAIL)).mail)
        seen.push((await look(EMAIL)).mail)
        return 'done'
      }
    }
    const first: unknown[] = []
    await lived(at, 3, (cs) => cs.run({ id: 'r', name: 'r', policy: RULES }, body(cs, first)))
    const again: unknown[] = []
    const cs = at.process()
    const refused = await rejection(cs.run({ id: 'r', name: 'r', policy: RULES }, body(cs, again)))
    assert.is(codeOf(refused), 'result-redacted')
    assert.equal(again, [])
    assert.is(outcomeOf(refused)?.status, 'OPEN', 'nothing is rolled back: it goes on where the value is')

    const other = at.process()
    const whole: unknown[] = []
    await other.run({ name: 'whole', policy: RULES }, body(other, whole))
    assert.equal(whole, [`${EMAIL}.${EMAIL}`, `${EMAIL}.${EMAIL}`], 'a repeat in the same life has the value')
  })

  test('calls whose arguments were left out are found on resume, each its own (RUN-96)', async () => {
    await using at = await home.open()
    const ran: string[] = []
    const body = (cs: Countersign) => {
      const send = cs.tool(async (to: string) => ran.push(to), { name: 'send' })
      return async () => [await send(EMAIL), await send('bob@example.org'), await send('carol@example.org')]
    }
    await lived(at, 3, (cs) => cs.run({ id: 'r', name: 'r', policy: RULES }, body(cs)))
    const cs = at.process()
    assert.equal(await cs.run({ id: 'r', name: 'r', policy: RULES }, body(cs)), [1, 2, 3])
    assert.equal(ran, [EMAIL, 'bob@example.org', 'carol@example.org'])
  })

  test('nothing is undone on what is left of arguments or results: the compensation fails and says why (RUN-98, A250)', async () => {
    await using at = await home.open()
    const undone: unknown[] = []
    const body = (cs: Countersign) => {
      const pay = cs.tool(async (card: string) => ({ paid: card }), {
        name: 'pay',
        compensate: (what) => void undone.push(what),
      })
      return async () => {
        await pay('4111 1111 1111 1111')
        throw new Error('no')
      }
    }
    const live = at.process()
    const failed = await rejection(live.run({ name: 'r', policy: RULES }, body(live)))
    assert.is(outcomeOf(failed)?.status, 'COMPENSATED')
    assert.equal(undone, [{ args: ['4111 1111 1111 1111'], result: { paid: '4111 1111 1111 1111' } }])

    undone.length = 0
    await lived(at, 4, (cs) => cs.run({ id: 'k', name: 'k', policy: RULES }, body(cs)))
    const cs = at.process()
    const error = await rejection(cs.run({ id: 'k', name: 'k', policy: RULES }, body(cs)))
    assert.is(outcomeOf(error)?.status, 'COMPENSATION_FAILED')
    assert.equal(undone, [])
  })

  test('the next agent is shown what is on record, live as on resume (RUN-98)', async () => {
    await using at = await home.open()
    const cs = at.process()
    const shown: unknown[] = []
    await cs.run({ id: 'r', name: 'r', policy: RULES }, async (run) => {
      await run.handoff({ facts: { mail: EMAIL, n: 1 } }, { agent: 'ann' })
      shown.push((await run.context()).context)
    })
    assert.equal(shown, [{ facts: { mail: '[redacted: email]', n: 1 } }])
    assert.is(codeOf(await rejection(cs.replay('r', async () => undefined))), 'replay-diverged')
  })

  test.run()
}

/** A life that ends after so many commands, the last of them carried out. */
async function lived(at: TestHome, commands: number, body: (cs: Countersign) => Promise<unknown>): Promise<void> {
  const { change, dead } = killedAfter(commands, true)
  body(at.process(change)).catch(() => undefined)
  await dead
}

const files = suite('redaction, on disk')

files('no byte of what is left out is in any file, export, bundle, log or message (RUN-94, A245)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const messages: string[] = []
  {
    await using cs = await open({ path: data })
    const charge = cs.tool(
      async ({ card, password }: { card: string; password: string }) => {
        if (password === '') throw new Error(`no card of ${EMAIL}`)
        return { receipt: `${card} by ${EMAIL}`, key: 'sk-live4Zq9Rk2Lm8Xw1Pq', pad: 'x'.repeat(100_000) }
      },
      { name: 'charge' },
    )
    const input = { mail: EMAIL, cards: ['4111 1111 1111 1111'], login: { password: 'hunter22' } }
    await cs.run({ id: 'good', name: 'good', input, policy: RULES }, async (run) => {
      await charge({ card: '4111 1111 1111 1111', password: 'hunter22' })
      await charge({ card: '4111111111111111', password: '' }).catch(() => undefined)
      await run.handoff({ facts: { mail: EMAIL }, summary: `${EMAIL} paid with 4111 1111 1111 1111` }, { agent: 'ann' })
      await run.handoff({ facts: {}, entities: [EMAIL] }, { agent: 'bob' })
      return { sent: EMAIL }
    })
    const failed = rejection(
      cs.run({ id: 'bad', name: 'bad', input, policy: RULES }, async () => {
        throw new Error(`${EMAIL} has no card 4111 1111 1111 1111`)
      }),
    )
    await failed
    messages.push(String(await rejection(cs.run({ name: EMAIL, policy: RULES }, async () => 1))))
  }
  const here = { env: { COUNTERSIGN_DATA: data } }
  for (const format of ['jsonl', 'csv', 'cloudevents', 'ocsf', 'otlp']) {
    const { stdout, stderr, code } = await runInProcess(
      ['export', '--run', 'good', '--format', format, '--data', data],
      here,
    )
    assert.is(code, 0, stderr)
    messages.push(stdout, stderr)
  }
  const bundle = folder.file('good.tar')
  const { stderr, code } = await runInProcess([
    'export',
    '--run',
    'good',
    '--bundle',
    bundle,
    '--values',
    '--data',
    data,
  ])
  assert.is(code, 0, stderr)
  for (const of of [bundle, data]) {
    const { stdout, code: verified } = await runInProcess(['verify', of, '--data', data])
    assert.is(verified, 0, stdout)
    messages.push(stdout)
  }
  const found = new Map(everyFile(folder.path).map((file) => [file, readFileSync(file)]))
  assert.ok(found.size > 4, 'the store, the views, the index and the logs')
  for (const secret of SECRETS) {
    for (const [file, bytes] of found) assert.not.ok(bytes.includes(secret), `${secret} in ${file}`)
    for (const text of messages) assert.not.ok(text.includes(secret), `${secret} in ${text.slice(0, 200)}`)
  }
  assert.ok([...found.values()].some((bytes) => bytes.includes('[redacted: email]')))
})

function everyFile(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
}

files.run()
