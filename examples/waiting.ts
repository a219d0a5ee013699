// An order waits for a delivery that somebody else reports, and gives up in time. Every process is dead meanwhile; the next one goes on where the last one left.
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open, type Run, RunWaiting, WaitTimedOut } from 'countersign/agent'

const DELIVERY = { type: 'object', required: ['parcel'], properties: { parcel: { type: 'string' } } }

async function order(folder: string, id: string, days: number): Promise<string> {
  await using cs = await open({ path: join(folder, 'data') })
  const note = (line: string): void => appendFileSync(join(folder, 'shop.txt'), `${line}\n`)
  const charge = cs.tool((what: string) => note(`charged ${what}`), {
    name: 'charge',
    compensate: ({ args: [what] }) => note(`refunded ${what}`),
  })
  const body = async (run: Run) => {
    await charge(id)
    const { parcel } = await run.waitFor<{ parcel: string }>('delivered', {
      until: days * 86_400_000,
      schema: DELIVERY,
    })
    return `parcel ${parcel}`
  }
  try {
    // Leaves where it has to wait: a server would let the run wait in the process, which is the default.
    return await cs.run({ id, name: 'order', whenWaiting: 'leave' }, body)
  } catch (error) {
    if (error instanceof RunWaiting) return `waits for the signal ${error.evidence.name}`
    if (error instanceof WaitTimedOut) return 'not delivered in time, and rolled back'
    throw error
  }
}

/** Somebody else, with `countersign signals send`, `POST /v1/runs/{run}/signals/{name}`, or as here. */
async function report(folder: string, id: string, payload: object): Promise<string> {
  await using cs = await open({ path: join(folder, 'data'), actor: 'carrier' })
  try {
    return (await cs.signal(id, 'delivered', payload)).status
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const [folder, id = '', days = ''] = process.argv.slice(2)
if (folder !== undefined) {
  console.log(await order(folder, id, Number(days)))
} else {
  const fresh = mkdtempSync(join(tmpdir(), 'countersign-example-'))
  const another = (...args: string[]): string =>
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), fresh, ...args], { encoding: 'utf8' }).stdout.trim()
  console.log(`order-1: ${another('order-1', '30')}`)
  console.log(`carrier: ${await report(fresh, 'order-1', { lost: true })}`)
  console.log(`carrier: ${await report(fresh, 'order-1', { parcel: 'p-7' })}`)
  console.log(`order-1, resumed: ${another('order-1', '30')}`)
  console.log(`order-2: ${another('order-2', '0')}`)
  {
    await using cs = await open({ path: join(fresh, 'data') })
    const { verdict } = await cs.replay('order-1', async (run) => {
      const charge = cs.tool((what: string) => what, { name: 'charge' })
      await charge('order-1')
      return `parcel ${(await run.waitFor<{ parcel: string }>('delivered')).parcel}`
    })
    console.log(`replay: ${verdict}`)
  }
  console.log(`shop: ${readFileSync(join(fresh, 'shop.txt'), 'utf8').trim().split('\n').join(', ')}`)
  rmSync(fresh, { recursive: true })
}
