import { type Browser, chromium, type Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RunWaiting } from '../../src/agent/errors.ts'
import { open } from '../../src/agent/open.ts'
import { countersign } from '../support/command-line.ts'
import { findChromium } from '../support/find-chromium.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite('dashboard: approvals in a real browser')

const executablePath = findChromium()
const LONG = 'n'.repeat(200)
const TABS_MAX = 60

/** One life of a program that pays; it leaves where it has to wait. */
async function life(folder: TempFolder, paid: string[]): Promise<unknown> {
  await using cs = await open({ path: folder.path, actor: 'bookkeeper' })
  const pay = cs.tool((to: string) => paid.push(to), { name: `pay${LONG}`, approve: { reason: LONG } })
  // Awaited here: what is returned as a promise is disposed of before it is settled.
  return await cs
    .run({ id: 'order', name: LONG, whenWaiting: 'leave' }, () => pay(LONG))
    .catch((error: unknown) => error)
}

async function signIn(page: Page, url: string, folder: string): Promise<void> {
  const scope = 'approvals:write runs:read payloads:read'
  const made = await countersign(['token', '--data', folder, '--sub', 'bob', '--scope', scope], { cwd: folder })
  await page.goto(`${url}/ui/approvals`)
  await page.getByLabel('Access token').fill(made.stdout.trim())
  await page.keyboard.press('Enter')
  await page.waitForURL(`${url}/ui/approvals`)
}

/** Presses Tab until what has the focus says this, then Enter. */
async function press(page: Page, name: RegExp): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    const text = (await focused.count()) === 0 ? '' : ((await focused.textContent()) ?? '')
    if (!name.test(text.trim())) continue
    await page.keyboard.press('Enter')
    return
  }
  throw new Error(`no key leads to ${name}`)
}

if (executablePath === undefined) console.log('skipped: no Chromium on PATH')

for (const width of executablePath === undefined ? [] : [390, 1440]) {
  test(`a payment is approved by keyboard alone and without a script, ${width} px wide with names of 200 characters, while its process is dead; the next life pays once (RUN-61, RUN-64)`, async () => {
    using folder = tempFolder()
    const paid: string[] = []
    assert.ok((await life(folder, paid)) instanceof RunWaiting)
    {
      await using server = await startServer({ data: folder.path })
      const browser: Browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
      try {
        const page = await browser.newPage({ javaScriptEnabled: false, viewport: { width, height: 900 } })
        await signIn(page, server.url, folder.path)
        await press(page, /^payn+/)
        await page.waitForURL(/\/ui\/runs\/order\/approvals\//)
        const box = await page.locator('body').boundingBox()
        assert.ok(box !== null && box.width <= width, `the page is ${box?.width} px wide`)
        const size = await page.locator('main').boundingBox()
        assert.ok(
          size !== null && size.x + size.width <= width,
          `its content ends at ${(size?.x ?? 0) + (size?.width ?? 0)} px`,
        )
        await press(page, /^Approve$/)
        await page.getByText('Approved by').waitFor()
        assert.ok(await page.getByRole('button', { name: 'Withdraw' }).isVisible())
      } finally {
        await browser.close()
      }
    }
    assert.equal(paid, [])
    assert.is(await life(folder, paid), 1)
    assert.is(await life(folder, paid), 1)
    assert.equal(paid, [LONG])
  })
}

test.run()
