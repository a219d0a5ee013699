// A payment over a limit waits for somebody else's yes. The process that asked is dead while it is given; the next one, with the same code, pays once.
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApprovalDenied, open, RunWaiting } from 'countersign/agent'

async function payInvoice(folder: string, invoice: string, cents: number): Promise<string> {
  await using cs = await open({ path: join(folder, 'data'), actor: 'bookkeeper' })
  const pay = cs.tool({
    name: 'pay',
    approve: { when: 'args.cents > 100000', reason: 'over 1,000.00', roles: ['treasurer'] },
    execute: async ({ invoice, cents }: { invoice: string; cents: number }) => {
      appendFileSync(join(folder, 'bank.txt'), `${invoice} ${cents}\n`)
      return `paid ${cents}`
    },
  })
  // Leaves where it has to wait: a server would let the run wait in the process, which is the default.
  const body = async () => pay({ invoice, cents })
  try {
    return await cs.run({ id: invoice, name: 'invoice', whenWaiting: 'leave' }, body)
  } catch (error) {
    if (error instanceof RunWaiting) return 'waits for an approval'
    if (error instanceof ApprovalDenied) return error.message
    throw error
  }
}

/** Somebody who may decide, with `countersign approvals`, in a browser at /ui/approvals, or as here. */
async function decide(folder: string, how: 'grant' | 'deny', comment: string): Promise<void> {
  await using cs = await open({ path: join(folder, 'data'), actor: 'tara', roles: ['treasurer'] })
  for await (const approval of cs.approvals.list()) {
    console.log(`tara sees ${approval.tool} ${JSON.stringify(approval.args)}: ${approval.needs[0]?.reason}`)
    console.log(await cs.approvals[how](approval, { comment }))
  }
}

const [folder, invoice = '', cents = ''] = process.argv.slice(2)
if (folder !== undefined) {
  console.log(await payInvoice(folder, invoice, Number(cents)))
} else {
  const fresh = mkdtempSync(join(tmpdir(), 'countersign-example-'))
  const another = (...args: string[]): string =>
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), fresh, ...args], { encoding: 'utf8' }).stdout.trim()
  console.log(`small: ${another('invoice-1', '90000')}`)
  console.log(`large: ${another('invoice-2', '250000')}`)
  await decide(fresh, 'grant', 'checked')
  console.log(`large, resumed: ${another('invoice-2', '250000')}`)
  console.log(`large, once more: ${another('invoice-2', '250000')}`)
  console.log(`another: ${another('invoice-3', '990000')}`)
  await decide(fresh, 'deny', 'no such supplier')
  console.log(`another, resumed: ${another('invoice-3', '990000')}`)
  console.log(`bank: ${readFileSync(join(fresh, 'bank.txt'), 'utf8').trim().split('\n').join(', ')}`)
  rmSync(fresh, { recursive: true })
}
