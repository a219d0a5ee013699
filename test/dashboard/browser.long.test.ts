import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { seriousFaults } from '../support/axe.ts'
import { countersign } from '../support/command-line.ts'
import { FORKED_RUN, HOSTILE_RUN, REFUSED_RUN } from '../support/dashboard-seed.ts'
import { findChromium } from '../support/find-chromium.ts'
import { makeSeededFolder } from '../support/seeded-folder.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('dashboard: in a real browser')

const executablePath = findChromium()

interface Opened {
  readonly page: Page
  readonly url: string
  readonly folder: string
}

interface BrowserOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly javaScriptEnabled?: boolean
  /** Pages of faults are visited, which a console calls errors. */
  readonly faultsExpected?: boolean
}

async function withBrowser(body: (opened: Opened) => Promise<void>, options: BrowserOptions = {}): Promise<void> {
  const { faultsExpected = false, ...context } = options
  using folder = tempFolder()
  await makeSeededFolder(folder.path)
  await using server = await startServer({ data: folder.path })
  const browser: Browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage(context)
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await signIn(page, server.url, folder.path)
    await body({ page, url: server.url, folder: folder.path })
    if (!faultsExpected) assert.equal(faults, [])
  } finally {
    await browser.close()
  }
}

async function signIn(page: Page, url: string, folder: string): Promise<void> {
  const scope = 'runs:read audit:read audit:export'
  const made = await countersign(['token', '--data', folder, '--tenant', 'acme', '--scope', scope], { cwd: folder })
  await page.goto(`${url}/ui`)
  await page.getByLabel('Access token').fill(made.stdout.trim())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${url}/ui/overview`)
}

const CLICKS_MAX = 3

const MAIN_PAGES = [
  '/ui/overview',
  '/ui/runs',
  `/ui/runs/${REFUSED_RUN}`,
  `/ui/runs/${FORKED_RUN}?scale=time`,
  `/ui/runs/${REFUSED_RUN}/refusals`,
  `/ui/runs/${REFUSED_RUN}/events/7`,
  `/ui/runs/${REFUSED_RUN}/diff?from=1&to=2`,
  `/ui/runs/${HOSTILE_RUN}`,
  '/ui/spend',
  '/ui/log',
  '/ui/audit',
  '/ui/audit/rejections',
  '/ui/nothing',
]

if (executablePath === undefined) console.log('skipped: no Chromium on PATH')
else {
  test('three clicks from the sign-in: which handoff, what changed, why, for whom, what it cost, what was undone, and the proof', async () => {
    await withBrowser(async ({ page, folder }) => {
      let clicks = 0
      const click = async (name: string | RegExp): Promise<void> => {
        clicks += 1
        await page.getByRole('link', { name }).first().click()
      }
      await click('Refused')
      await page
        .getByRole('row', { name: /writer/ })
        .getByRole('link', { name: /^see why/ })
        .click()
      clicks += 1
      const text = (await page.locator('main').textContent()) ?? ''
      assert.match(text, /Handoff of writer refused/)
      assert.match(text, /claims-orchestrator for dana\.whitfield via batch-gateway/)
      assert.match(text, /184300\.00 EUR.*214300\.00 EUR/s)
      assert.match(text, /established\s*in step 1 by intake/)
      assert.match(text, /the output of fetch-claim-file/)
      assert.match(text, /0\.0921 USD/)
      assert.match(text, /release-payout\s+succeeded/)
      assert.match(text, /recall-letter\s+failed/)
      await page.locator('.proof[data-verdict="good"]').waitFor()
      assert.is(await page.locator('.checks [data-verdict="good"]').count(), 5)
      const download = page.waitForEvent('download')
      await click('Evidence bundle')
      const file = join(folder, 'taken.tar')
      await (await download).saveAs(file)
      assert.ok(clicks <= CLICKS_MAX, String(clicks))
      const key = await countersign(['checkpoint', '--data', folder, '--tenant', 'acme', '--key'], { cwd: folder })
      const verified = await countersign(['verify', file, '--key', key.stdout.trim()], { cwd: folder })
      assert.is(verified.code, 0, verified.stdout + verified.stderr)
      assert.match(verified.stdout, /^VERIFIED/)
    })
  })

  test('a run of the list leads to its picture; arrow keys go through it, and a mark leads to its event and proof', async () => {
    await withBrowser(async ({ page, url }) => {
      await page.goto(`${url}/ui/runs`)
      await page.getByRole('link', { name: 'Refused a handoff' }).click()
      await page.getByRole('link', { name: REFUSED_RUN, exact: true }).click()
      assert.is(await page.locator('path.rewind').count(), 1)
      await page.locator('.run-picture a[tabindex="0"]').focus()
      await page.keyboard.press('End')
      await page.keyboard.press('Home')
      await page.keyboard.press('ArrowRight')
      const revision = await page.evaluate(() => document.activeElement?.getAttribute('data-revision'))
      assert.is(revision, '1')
      await page.keyboard.press('Enter')
      await page.waitForURL(`${url}/ui/runs/${REFUSED_RUN}/events/1`)
      await page.locator('.proof[data-verdict="good"]').waitFor()
    })
  })

  test('another verifier key than the log\u2019s is seen through in the browser', async () => {
    await withBrowser(async ({ page, url, folder }) => {
      await page.goto(`${url}/ui/runs/${REFUSED_RUN}/events/3`)
      await page.locator('.proof[data-verdict="good"]').waitFor()
      const other = await page.locator('#verifier-key').inputValue()
      await page.locator('#verifier-key').fill(other.replace('/acme+', '/beta+'))
      await page.getByRole('button', { name: 'Check again' }).click()
      await page.locator('.proof[data-verdict="bad"]').waitFor()
      assert.ok(folder)
    })
  })

  test('a page that is open follows its run: an event that comes is shown without a reload', async () => {
    await withBrowser(async ({ page, url, folder }) => {
      const made = await countersign(['token', '--data', folder, '--tenant', 'acme', '--scope', 'runs:write'], {
        cwd: folder,
      })
      await page.goto(`${url}/ui/runs/claim-2293`)
      await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }))
      const posted = await fetch(`${url}/v1/runs/claim-2293/envelopes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' },
        body: JSON.stringify({ agent: 'latecomer', mode: 'extend', payload: { note: 'arrived' } }),
      })
      assert.is(posted.status, 201)
      await page.getByRole('cell', { name: 'Handoff of latecomer accepted as step 2' }).waitFor()
      assert.ok(await page.evaluate(() => 'sameDocument' in globalThis))
    })
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`the main pages have no serious fault of accessibility (${colorScheme})`, async () => {
      await withBrowser(
        async ({ page, url }) => {
          const found: string[] = []
          for (const path of MAIN_PAGES) {
            await page.goto(url + path)
            for (const fault of await seriousFaults(page)) found.push(`${path}: ${fault}`)
          }
          assert.equal(found, [])
        },
        { colorScheme, faultsExpected: true },
      )
    })
  }

  test('without script the list, the picture, the diff, the theme and the verification work all the same', async () => {
    await withBrowser(
      async ({ page, url }) => {
        await page.goto(`${url}/ui/runs/${REFUSED_RUN}`)
        assert.is(await page.locator('path.rewind').count(), 1)
        await page.getByRole('button', { name: /^Theme/ }).click()
        assert.is(await page.locator('html').getAttribute('data-theme'), 'light')
        await page.getByRole('button', { name: 'Verify this run now' }).click()
        assert.is(await page.getByRole('heading', { level: 1 }).textContent(), 'VERIFIED')
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.waitForURL(/\/ui\/sign-in/)
      },
      { javaScriptEnabled: false },
    )
  })

  test('nothing that a record says runs in the page, and the title stays ours (A45, A50)', async () => {
    await withBrowser(async ({ page, url }) => {
      const dialogs: string[] = []
      page.on('dialog', (dialog) => dialogs.push(dialog.message()))
      for (const rest of ['', '/events/1', '/events/3', '/refusals']) {
        await page.goto(`${url}/ui/runs/${HOSTILE_RUN}${rest}`)
        assert.match(await page.title(), /Countersign$/)
      }
      assert.equal(dialogs, [])
    })
  })
}

test.run()
