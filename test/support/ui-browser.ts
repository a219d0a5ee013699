/** @module A browser that is signed in to a seeded ledger: for tests of what a page looks like. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { countersign } from './command-line.ts'
import { type Seeding, seedShowcase } from './dashboard-seed.ts'
import { findChromium } from './find-chromium.ts'
import { makeSeededFolder } from './seeded-folder.ts'
import { startServer } from './server-process.ts'
import { tempFolder } from './temp-folder.ts'

export interface OpenedBrowser {
  readonly page: Page
  readonly url: string
  readonly folder: string
}

export interface UiBrowserOptions extends BrowserContextOptions {
  readonly seed?: (seeding: Seeding) => Promise<void>
  readonly scope?: string
  /** Done to the data folder before the server starts. */
  readonly spoil?: (folder: string) => void
}

/** Undefined where the system has no Chromium: the test is then skipped, with a word. */
export const chromiumPath = findChromium()
if (chromiumPath === undefined) console.log('skipped: no Chromium on PATH')

export async function withUiBrowser(
  body: (opened: OpenedBrowser) => Promise<void>,
  { seed = seedShowcase, spoil, scope = 'runs:read audit:read audit:export', ...context }: UiBrowserOptions = {},
): Promise<void> {
  using folder = tempFolder()
  await makeSeededFolder(folder.path, { seed })
  spoil?.(folder.path)
  await using server = await startServer({ data: folder.path })
  const browser: Browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage(context)
    const args = ['token', '--data', folder.path, '--tenant', 'acme', '--scope', scope]
    const { stdout } = await countersign(args, { cwd: folder.path })
    await page.goto(`${server.url}/ui/sign-in`)
    await page.getByLabel('Access token').fill(stdout.trim())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await body({ page, url: server.url, folder: folder.path })
  } finally {
    await browser.close()
  }
}

/** Letters as wide as this make of any font another one. `style-src 'self'` keeps a page from bringing a sheet of its own. */
export async function withFont(page: Page, css: string): Promise<void> {
  await page.evaluate((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    document.adoptedStyleSheets = [sheet]
  }, css)
}
