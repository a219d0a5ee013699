/** An approval that is granted in a real browser while no worker runs: the run waits on its page, and the next worker carries it on. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Countersign, connect, type Run } from '../../src/agent/index.ts'
import { findChromium } from '../support/find-chromium.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('dashboard: a run of a worker in a real browser')

const executablePath = findChromium()

async function clerk(server: ServerProcess): Promise<Countersign> {
  const token = await server.token({ subject: 'clerk', scopes: ['runs:write', 'runs:read', 'payloads:read'] })
  return connect({ url: server.url, token })
}

/** A worker of a process of its own: what it does outside goes to `paid`. */
function startWorker(cs: Countersign, paid: string[]) {
  const pay = cs.tool(async (order: string) => paid.push(order), {
    name: 'pay',
    approve: true,
    compensate: 'not-needed',
  })
  return cs.worker({ runs: { order: async (run: Run<string>) => pay(run.input) } })
}

async function openRun(page: Page, server: ServerProcess): Promise<void> {
  const token = await server.token({ subject: 'boss', scopes: ['approvals:write', 'runs:read', 'payloads:read'] })
  await page.goto(`${server.url}/ui/approvals`)
  await page.getByLabel('Access token').fill(token)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${server.url}/ui/approvals`)
  await page.goto(`${server.url}/ui/runs/order-1`)
}

if (executablePath === undefined) console.log('skipped: no Chromium on PATH')
else
  test('what is granted while no process runs is carried on by the next worker, once (RUN-222, RUN-223)', async () => {
    await using server = await startServer()
    const paid: string[] = []
    {
      await using cs = await clerk(server)
      await using worker = startWorker(cs, paid)
      await cs.start('order', 'a book', { id: 'order-1' })
      const isLeft = async () => {
        for await (const { waiting } of cs.runs({ name: 'order' })) if (Number(waiting) > 0) return true
        return undefined
      }
      await eventually(isLeft, 'the approval that is asked for')
      await within(worker.stop(), 'the end of the worker')
    }
    const browser: Browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      await openRun(page, server)
      await page.getByText('The run is waiting').waitFor()
      await page.getByRole('link', { name: 'the approval of pay' }).click()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Approved by').waitFor()
      assert.equal(paid, [], 'nobody has carried it on yet')

      await using cs = await clerk(server)
      await using _ = startWorker(cs, paid)
      assert.is(await within(cs.result('order-1'), 'the run'), 1)
      assert.equal(paid, ['a book'])
      await page.goto(`${server.url}/ui/runs/order-1`)
      await page.getByText('completed', { exact: true }).first().waitFor()
      assert.is(await page.getByText('The run is waiting').count(), 0)
    } finally {
      await browser.close()
    }
  })

test.run()
