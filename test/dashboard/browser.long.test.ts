import { type Browser, chromium, type Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCli, serveCli } from '../support/cli.ts'
import { REFUSED_RUN } from '../support/dashboard-seed.ts'
import { findChromium } from '../support/find-chromium.ts'
import { makeSeededFolder } from '../support/seeded-folder.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('dashboard: in a real browser')

const executablePath = findChromium()

interface Opened {
  readonly page: Page
  readonly url: string
  readonly folder: string
}

async function withBrowser(body: (opened: Opened) => Promise<void>): Promise<void> {
  using folder = tempFolder()
  await makeSeededFolder(folder.path)
  await using server = await serveCli({ cwd: folder.path, args: ['--data', folder.path] })
  const browser: Browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await signIn(page, server.url, folder.path)
    await body({ page, url: server.url, folder: folder.path })
    assert.equal(faults, [])
  } finally {
    await browser.close()
  }
}

async function signIn(page: Page, url: string, folder: string): Promise<void> {
  const scope = 'runs:read audit:read audit:export'
  const made = await runCli(['token', '--data', folder, '--tenant', 'acme', '--scope', scope], { cwd: folder })
  await page.goto(`${url}/ui`)
  await page.getByLabel('Access token').fill(made.stdout.trim())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${url}/ui/runs`)
}

if (executablePath === undefined) console.log('skipped: no Chromium on PATH')
else {
  test('a refused handoff of last night is found from the sign-in, and its rewind is seen', async () => {
    await withBrowser(async ({ page }) => {
      await page.getByRole('link', { name: 'Refused a handoff' }).click()
      await page.getByRole('link', { name: REFUSED_RUN }).click()
      await page.getByRole('link', { name: /^Rewound from step 2 to step 2 \(contradiction\)/ }).waitFor()
      assert.is(await page.locator('path.rewind').count(), 1)
    })
  })
}

test.run()
