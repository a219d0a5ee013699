// Makes docs/screenshots/ anew: a seeded ledger, the system's Chromium, every main page in light and in dark. Run after a build;
// a word narrows to the pages whose name contains it, `--out FOLDER` puts them elsewhere.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const DIST = new URL('../dist/test/support/', import.meta.url)
const { BIN } = await import(new URL('command-line.js', DIST).href)
const { startServer } = await import(new URL('server-process.js', DIST).href)
const { makeSeededFolder } = await import(new URL('seeded-folder.js', DIST).href)
const { seedShowcase, seedWaiting } = await import(new URL('dashboard-seed.js', DIST).href)
const { findChromium } = await import(new URL('find-chromium.js', DIST).href)

const PAGES = [
  { name: 'sign-in', path: '/ui/sign-in', signedOut: true },
  { name: 'overview', path: '/ui/overview' },
  { name: 'runs', path: '/ui/runs' },
  { name: 'run', path: '/ui/runs/claim-2291', height: 1000 },
  { name: 'past', path: '/ui/runs/claim-2291?asOf=event-23', height: 1000 },
  { name: 'fork', path: '/ui/runs/reserve-17' },
  { name: 'refusal', path: '/ui/runs/claim-2291/refusals', height: 1010, before: proofChecked },
  { name: 'proof', path: '/ui/runs/claim-2291/refusals', before: scrolledToProof },
  { name: 'event', path: '/ui/runs/claim-2291/events/8', before: proofChecked },
  { name: 'spend', path: '/ui/spend' },
  { name: 'log', path: '/ui/log' },
  { name: 'refused', path: '/ui/audit/rejections' },
  { name: 'audit', path: '/ui/audit' },
  { name: 'service', path: '/ui/service' },
  { name: 'doubts', path: '/ui/doubts' },
  { name: 'resolve', path: '/ui/doubts', before: (page) => followed(page, /resolve$/) },
  { name: 'approvals', path: '/ui/approvals' },
  { name: 'approval', path: '/ui/approvals', height: 1000, before: (page) => followed(page, /\/approvals\/[^/]+$/) },
  { name: 'waiting', path: '/ui/runs/claim-2294' },
  { name: 'context', path: '/ui/runs/claim-2291/context?step=2', height: 1000 },
  { name: 'verification', path: '/ui/runs/claim-2291', before: verified },
  { name: 'sample', path: '/ui/audit/sample?seed=2026-q3' },
  { name: 'search', path: '/ui/audit/search?text=roof' },
  { name: 'diff', path: '/ui/runs/claim-2291/diff?from=2&to=3' },
]

const args = process.argv.slice(2)
const outAt = args.indexOf('--out')
const [, out = join(ROOT, 'docs', 'screenshots')] = outAt < 0 ? [] : args.splice(outAt, 2)
const executablePath = findChromium()
if (executablePath === undefined) {
  console.error('no Chromium on PATH: install chromium, chromium-browser or google-chrome')
  process.exit(1)
}

const data = mkdtempSync(join(tmpdir(), 'countersign-screenshots-'))
mkdirSync(out, { recursive: true })
try {
  await makeSeededFolder(data, {
    seed: async (seeding) => {
      await seedShowcase(seeding)
      await seedWaiting(seeding)
    },
  })
  const scopes = 'runs:read runs:write payloads:read audit:read audit:export approvals:write'
  const made = spawnSync(process.execPath, [
    BIN,
    'token',
    '--data',
    data,
    '--tenant',
    'acme',
    '--sub',
    'a.okafor',
    '--scope',
    scopes,
  ])
  const server = await startServer({ data })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    for (const scheme of ['light', 'dark'])
      await shoot(browser, server.url, { scheme, token: made.stdout.toString().trim() })
  } finally {
    await browser.close()
    await server.stop()
  }
} finally {
  rmSync(data, { recursive: true, force: true })
}

async function shoot(browser, url, { scheme, token }) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1360, height: 800 } })
  const page = await context.newPage()
  const wanted = PAGES.filter(({ name }) => args.length === 0 || args.some((word) => name.includes(word)))
  for (const { name, path, signedOut, height = 800, before } of wanted) {
    await page.setViewportSize({ width: 1360, height })
    if (signedOut !== true && !(await context.cookies()).some((cookie) => cookie.name === 'countersign_session'))
      await signIn(page, url, token)
    await page.goto(url + path)
    await before?.(page)
    await page.screenshot({ path: join(out, `${name}-${scheme}.png`) })
    console.log(`${name}-${scheme}.png`)
  }
  await context.close()
}

async function signIn(page, url, token) {
  await page.goto(`${url}/ui/sign-in`)
  await page.fill('#token', token)
  await page.click('main button[type=submit]')
  await page.waitForURL(`${url}/ui/overview`)
}

function proofChecked(page) {
  return page.waitForSelector('.proof[data-verdict=good]')
}

/** To where the first link of this kind in the page's main part leads. */
async function followed(page, where) {
  const links = await page.locator('main a').evaluateAll((all) => all.map((link) => link.href))
  const link = links.find((href) => where.test(new URL(href).pathname))
  if (link === undefined) throw new Error(`${page.url()} has no link to ${where}`)
  await page.goto(link)
}

async function verified(page) {
  await page.getByRole('button', { name: 'Verify this run now' }).click()
  await page.waitForURL(/\/verify/)
}

async function scrolledToProof(page) {
  await proofChecked(page)
  await page.locator('#undone-title').scrollIntoViewIfNeeded()
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
}
