import { type Browser, chromium, type Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PAGES } from '../../src/dashboard/dashboard.tsx'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import { seriousFaults } from '../support/axe.ts'
import { countersign } from '../support/command-line.ts'
import { seedShowcase } from '../support/dashboard-seed.ts'
import { findChromium } from '../support/find-chromium.ts'
import { LONG_RUN, seedLongNames } from '../support/long-names-seed.ts'
import { makeSeededFolder } from '../support/seeded-folder.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('dashboard: pages fit what shows them')

const executablePath = findChromium()
if (executablePath === undefined) console.log('skipped: no Chromium')
const claim = executablePath === undefined ? test.skip : test

const WIDTHS = [390, 768, 1440]
const RUN = `/ui/runs/${LONG_RUN}`
const OF_RUN = [
  '',
  '?scale=time',
  '/context',
  '/diff?from=0&to=1',
  '/refusals',
  '/suspects',
  '/declared',
  '/events/0',
  '/events/1',
  '/events/3',
]
const PATHS = [
  '/ui/sign-in',
  '/ui/overview',
  '/ui/runs',
  ...OF_RUN.map((rest) => RUN + rest),
  ...[
    '/ui/doubts',
    '/ui/suspects',
    '/ui/approvals',
    '/ui/approvals?asOf=60',
    '/ui/nowhere',
    '/ui/spend',
    '/ui/log',
    '/ui/audit',
    '/ui/service',
  ],
  ...Object.keys(AUDIT_QUERIES).map((name) => `/ui/audit/${name}${name === 'search' ? '?text=claims' : ''}`),
]

async function withPage(body: (page: Page, url: string) => Promise<void>): Promise<void> {
  using folder = tempFolder()
  await makeSeededFolder(folder.path, {
    seed: async (seeding) => {
      await seedShowcase(seeding)
      await seedLongNames(seeding)
    },
  })
  await using server = await startServer({ data: folder.path })
  const browser: Browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    const scope = 'runs:read runs:write approvals:write audit:read audit:export'
    const args = ['token', '--data', folder.path, '--tenant', 'acme', '--sub', 'a'.repeat(200), '--scope', scope]
    const made = await countersign(args, { cwd: folder.path })
    await page.goto(`${server.url}/ui`)
    await page.getByLabel('Access token').fill(made.stdout.trim())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${server.url}/ui/overview`)
    await body(page, server.url)
  } finally {
    await browser.close()
  }
}

/** Goes to a page whose letters are as wide as those of any machine's fonts: what fits here does not rest on the fonts of this one. */
async function gotoWithWideLetters(page: Page, address: string): Promise<number> {
  const response = await page.goto(address)
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('* { letter-spacing: 0.15em !important }')
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  })
  return response?.status() ?? 500
}

claim('no page is wider than its viewport at 390, 768 and 1440 pixels, whatever the names in it', async () => {
  assert.ok(PAGES.length > 0)
  await withPage(async (page, url) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      for (const path of PATHS) {
        assert.ok((await gotoWithWideLetters(page, url + path)) < 500, path)
        const wide = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(wide <= width, `${path} is ${wide} pixels wide at ${width}`)
      }
    }
  })
})

claim('axe finds nothing serious on any page, whatever the names in it, in light and dark', async () => {
  await withPage(async (page, url) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const path of PATHS) {
        await page.goto(url + path)
        assert.equal(await seriousFaults(page), [], `${path} in ${colorScheme}`)
      }
    }
  })
})

claim('on a phone a row of a table is a list, and no letter stands alone on its line', async () => {
  await withPage(async (page, url) => {
    await page.setViewportSize({ width: 390, height: 900 })
    for (const path of ['/ui/runs', RUN, '/ui/spend', '/ui/log', '/ui/doubts', '/ui/audit/events']) {
      await page.goto(url + path)
      assert.is(await page.locator('main table:not(.listed)').count(), 0, `${path} has a table that stays one`)
      const narrow = await page.evaluate(() =>
        [...document.querySelectorAll('table.listed td, table.listed tbody th')]
          .filter((cell) => cell.textContent !== '' && cell.getBoundingClientRect().width < 200)
          .map((cell) => `${cell.textContent} ${cell.getBoundingClientRect().width}`),
      )
      assert.equal(narrow, [], path)
      assert.ok((await page.locator('table.listed').count()) > 0, path)
    }
  })
})

claim('what an agent spent stands in the row of that agent, at every width', async () => {
  await withPage(async (page, url) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      await gotoWithWideLetters(page, `${url}/ui/overview`)
      const outside = await page.evaluate(() =>
        [...document.querySelectorAll('.rows .amount')]
          .filter((amount) => {
            const [own, row] = [amount.getBoundingClientRect(), amount.closest('li')?.getBoundingClientRect()]
            return row === undefined || own.top < row.top || own.bottom > row.bottom + 1
          })
          .map((amount) => amount.textContent),
      )
      assert.equal(outside, [], String(width))
      assert.ok((await page.locator('.rows .amount').count()) > 1)
    }
  })
})

claim('on paper nothing is cut: no box of a printed page hides or scrolls what it holds', async () => {
  await withPage(async (page, url) => {
    // A4 at 96 dots an inch, less the margins.
    await page.setViewportSize({ width: 718, height: 1_000 })
    await page.emulateMedia({ media: 'print' })
    for (const path of PATHS) {
      await gotoWithWideLetters(page, url + path)
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll('main *')]
          .filter((box) => box instanceof HTMLElement && !box.classList.contains('visually-hidden'))
          .filter((box) => getComputedStyle(box).overflowX !== 'visible' && box.scrollWidth > box.clientWidth + 1)
          .map((box) => `${box.tagName}.${box.className} ${box.scrollWidth} in ${box.clientWidth}`),
      )
      assert.equal(cut, [], path)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= 718, `${path} is ${wide} pixels wide on paper`)
    }
    const pdf = await page.pdf({ format: 'A4' })
    assert.ok(pdf.length > 1_000)
  })
})

claim('on paper each lane of a picture is named where it is drawn', async () => {
  await withPage(async (page, url) => {
    await page.setViewportSize({ width: 718, height: 1_000 })
    await page.emulateMedia({ media: 'print' })
    for (const run of [RUN, '/ui/runs/claim-2291']) {
      await page.goto(url + run)
      const lanes = await page.evaluate(() => {
        const boxes = (selector: string) =>
          [...document.querySelectorAll(selector)].map((each) => each.getBoundingClientRect())
        const names = boxes('.lanes-on-paper .clipped-lane, .lanes-on-paper .clipped-lane-muted')
        return boxes('rect.lane').map(({ top, bottom, left }, at) => {
          const name = names[at]
          return name !== undefined && name.top >= top && name.top < bottom && name.left >= 0 && name.right <= left + 1
        })
      })
      assert.ok(lanes.length > 1 && lanes.every((isNamed) => isNamed), `${run}: ${lanes}`)
      assert.is(await page.locator('.lane-labels').isVisible(), false)
    }
  })
})

test.run()
