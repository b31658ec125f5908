// Gemini CLI's own ToolOutputMaskingService, called as its client does: before each request, on the
// history without the message that is about to be sent. Reads {core, options, requests} on stdin,
// where a request is the contents that are new before its pending message, and that message; writes
// the contents of each request.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

console.log = console.debug = () => {}; // stdout is the answer
const given = JSON.parse(fs.readFileSync(0, "utf8"));
const file = path.join(given.core, "dist/src/context/toolOutputMaskingService.js");
const { ToolOutputMaskingService } = await import(pathToFileURL(file));
// Previews name the file, and count its name: here it lies in the working folder.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mask-"));
process.chdir(folder);
const known = {
  getToolOutputMaskingConfig: async () => given.options,
  getSessionId: () => "",
  storage: { getProjectTempDir: () => "" },
};
// The rest of the configuration is for telemetry, which is off.
const config = new Proxy(known, { get: (target, name) => target[name] ?? (() => false) });
const service = new ToolOutputMaskingService();
const sent = [];
let history = [];
for (const request of given.requests) {
  history = history.concat(request.before);
  history = (await service.mask(history, config)).newHistory;
  history = history.concat(request.pending);
  sent.push(history);
}
process.chdir(os.tmpdir());
fs.rmSync(folder, { recursive: true });
process.stdout.write(JSON.stringify(sent));
