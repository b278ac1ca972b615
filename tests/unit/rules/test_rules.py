"""Rules on hand-made facts: no toolchain, one case where each holds and one where it must not."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from lmemscope.model import (
    CallFacts,
    Cause,
    CubinFacts,
    Evidence,
    EvidenceKind,
    Finding,
    IndexFacts,
    IndexSource,
    InlineFrame,
    LaunchBounds,
    LocalAccess,
    PtxasFacts,
    SiteClass,
    SiteSplit,
    SourceLocation,
    Uniformity,
)
from lmemscope.rules import RULES, rule
from lmemscope.rules.base import Rule
from lmemscope.rules.register_cap import cap_of, registers_for
from tests.support.builders import access, changed, facts, find
from tests.support.builders import kernel_with as kernel


def only(found: tuple[Finding, ...]) -> Finding:
    (finding,) = found
    return finding


@pytest.mark.parametrize("one", RULES, ids=lambda r: r.cause)
def test_each_rule_speaks_for_its_cause_and_for_no_other(one: Rule) -> None:
    finding = only(
        find(
            kernel(
                one.cause,
                with_object=one.cause
                not in ("register-spill", "callee-save", "call-frame", "alloca", "device-launch"),
            )
        )
    )
    assert (finding.rule, finding.cause) == (one.id, one.cause)
    assert finding.message
    assert finding.advice


def test_an_object_without_a_name_is_as_large_as_its_padding_lets_it_be() -> None:
    fact = kernel("dynamic-index")
    nameless = replace(fact.objects[0], name=None, type=None, size=16)
    finding = only(find(replace(fact, objects=(nameless,))))
    assert finding.message.startswith("an object of up to 16 bytes is ")
    assert not any("16" in one.text for one in finding.advice)


def test_a_kernel_without_causes_has_no_findings() -> None:
    assert find(facts()) == ()


@pytest.mark.parametrize("one", RULES, ids=lambda r: r.cause)
def test_each_page_is_complete(one: Rule) -> None:
    for part in (
        "What it is.",
        "How to recognise it.",
        "What it costs.",
        "How to remove it.",
        "When to leave it.",
    ):
        assert part in one.page, f"{one.id} lacks {part}"
    assert rule(one.id) is rule(one.cause) is one


def test_only_evidence_makes_a_temporary_of_what_is_volatile() -> None:
    facts_of = kernel("volatile")
    (one,) = facts_of.objects
    nameless = replace(one, name=None)
    shown = replace(nameless, evidence_facts=(Evidence("plain-declaration", "v"),))
    for held, is_temporary in ((nameless, False), (shown, True)):
        finding = only(find(replace(facts_of, objects=(held,))))
        assert ("temporary" in finding.message) == is_temporary
        assert finding.advice[0].text.startswith("Drop the `volatile` of") == is_temporary


@pytest.mark.parametrize("declared", ["float table[4];", "volatile float table[4];"])
def test_a_choice_makes_volatile_what_is_not_declared_so(declared: str) -> None:
    facts_of = kernel("volatile")
    (one,) = facts_of.objects
    assert one.declared is not None
    source = {one.declared.file: "\n" * (one.declared.line - 1) + declared}
    chosen = replace(one, evidence_facts=(Evidence("volatile-choice", "table"),))
    finding = only(find(replace(facts_of, objects=(chosen,)), source))
    assert ("is not volatile" in finding.message) == (not declared.startswith("volatile"))
    assert ("Drop" in finding.advice[0].text) == declared.startswith("volatile")
    assert "`+table`" in finding.advice[0].text


def test_numbers_are_unique_and_sorted() -> None:
    numbers = [r.id for r in RULES]
    assert numbers == sorted(set(numbers))
    assert rule("LM000") is None


@pytest.mark.parametrize(
    ("depth", "uniformity", "severity"),
    [
        (0, "uniform", "note"),
        (1, "uniform", "warning"),
        (0, "lane-varying", "warning"),
        (1, "data-dependent", "error"),
        (2, "lane-varying", "error"),
    ],
)
def test_a_dynamic_index_is_judged_by_loop_and_lanes(
    depth: int, uniformity: Uniformity, severity: str
) -> None:
    assert (
        only(find(kernel("dynamic-index", depth=depth, uniformity=uniformity))).severity == severity
    )


def test_the_message_names_what_the_index_is_made_of() -> None:
    index = IndexFacts(
        "x[i] % n",
        (IndexSource("memory", "x"), IndexSource("parameter", "n")),
        "data-dependent",
        None,
    )
    message = only(find(kernel("dynamic-index", index=index))).message
    assert "`table` (float[20], 80 bytes)" in message
    assert "`x[i] % n`" in message
    assert "values loaded from `x` and the parameter `n`" in message


def test_what_an_index_is_loaded_from_is_one_list() -> None:
    memory = tuple(IndexSource("memory", name) for name in ("x", None, "y"))
    sources = (*memory, IndexSource("parameter", "n"))
    index = IndexFacts(None, sources, "data-dependent", None)
    message = only(find(kernel("dynamic-index", index=index))).message
    assert "the parameter `n` and values loaded from `x`, `y` and other memory" in message


def test_what_an_index_is_made_of_is_said_once_and_of_many_some() -> None:
    pointers = [IndexSource("parameter", name, None) for name in "xyabcdef"]
    loaded = [IndexSource("memory", name, 0) for name in "xy"]
    index = IndexFacts("x[i]", (*loaded, *pointers), "uniform", None)
    message = only(find(kernel("dynamic-index", index=index))).message
    assert "the parameter `x`" not in message
    assert "the parameter `d`, 2 more and values loaded from `x` and `y`" in message


@pytest.mark.parametrize("cause", ["callee-save", "call-frame"])
def test_what_a_call_saves_has_the_line_of_its_entry(cause: Cause) -> None:
    entry, body = SourceLocation("a.cu", 3), SourceLocation("a.cu", 9)
    saves = access(cause, object=None, is_store=True, chain=(InlineFrame.at(entry, None),))
    # More bytes, in a loop, and of what was inlined before it.
    restores = access(
        cause, object=None, width=16, loop_depth=2, chain=(InlineFrame.at(body, None),)
    )
    facts = replace(kernel(cause, with_object=False), accesses=(saves, restores))
    assert only(find(facts)).location == entry


def test_unmarked_spills_are_only_likely() -> None:
    marked = kernel("register-spill", with_object=False)
    assert only(find(marked)).confidence == "certain"
    unmarked = replace(marked, accesses=(access("register-spill", object=None),))
    assert only(find(unmarked)).confidence == "likely"
    assert only(find(kernel("unattributed", with_object=False))).confidence == "possible"


def test_inlining_is_advised_for_the_function_that_gets_the_address() -> None:
    finding = only(find(kernel("address-taken")))
    assert "leaf" in finding.message
    assert "Inline leaf" in finding.advice[0].text


@pytest.mark.parametrize(
    ("kind", "said", "advised"),
    [
        ("holds-addresses", "holds addresses of local variables", "Store indices"),
        ("chosen-address", "a pointer is chosen at run time", "Select elements"),
        ("chosen-place", "a pointer to one of its parts is chosen", "select between the elements"),
        (
            "chosen-address null",
            "null on other paths",
            "or a reference, together with the condition",
        ),
    ],
)
def test_what_is_said_of_addresses_that_nobody_gets(kind: str, said: str, advised: str) -> None:
    facts = kernel("address-taken")
    name, _, subject = kind.partition(" ")
    shown = Evidence(cast(EvidenceKind, name), subject or None, ptx_line=3, opcode="st.local.u64")
    evidence = (shown,)
    facts = replace(facts, objects=(replace(facts.objects[0], evidence_facts=evidence),))
    finding = only(find(facts))
    assert said in finding.message
    assert advised in finding.advice[0].text


def test_only_what_is_no_array_is_copied_as_a_whole() -> None:
    facts = kernel("address-taken")
    shown = Evidence("chosen-place", ptx_line=3, opcode="st.local.u64")
    made = replace(facts.objects[0], type="Pair", evidence_facts=(shown,))
    assert "Copy the selected value" in only(find(replace(facts, objects=(made,)))).advice[0].text


@pytest.mark.parametrize("cause", ["rolled-loop", "dynamic-index"])
def test_a_loop_that_alone_keeps_an_address_is_unrolled(cause: Cause) -> None:
    plain = kernel("address-taken")
    (first,) = plain.objects
    held = replace(first, evidence_facts=(Evidence("held-address", "rows"),))
    holder = replace(first, cause=cause, name="rows", offset=first.size, evidence_facts=())
    facts = replace(plain, objects=(held, holder))
    said = " ".join(one.text for finding in find(facts) for one in finding.advice)
    assert ("Unroll the loop over `rows`" in said) == (cause == "rolled-loop"), said


def test_a_buffer_in_the_place_of_a_variable_makes_no_frame_larger() -> None:
    plain = kernel("printf-args")
    assert "in a stack slot shared" not in only(find(plain)).message
    causes = tuple(replace(one, frame_bytes=0) for one in plain.causes)
    facts = replace(plain, causes=causes)
    assert "do not enlarge the frame" in only(find(facts)).message


@pytest.mark.parametrize(("others", "is_store"), [((1,), True), ((1,), False), ((), True)])
def test_what_is_copied_to_be_changed_is_written_back(
    others: tuple[int, ...], is_store: bool
) -> None:
    plain = kernel("address-taken")
    first = replace(plain.objects[0], evidence_facts=(Evidence("chosen-address", None),))
    reads = access("address-taken", others=(1,))
    uses = access("address-taken", others=others, is_store=is_store)
    both = replace(plain, objects=(first, first), accesses=(reads, uses))
    advice = only(finding for finding in find(both) if finding.advice)
    assert ("write it back" in advice.advice[0].text) == (is_store and bool(others))


@pytest.mark.parametrize(
    ("threads", "blocks", "registers"),
    [(1024, 2, 32), (1024, 1, 64), (256, 2, 128), (128, 1, 255), (768, 1, 80)],
)
def test_registers_left_by_launch_bounds(threads: int, blocks: int, registers: int) -> None:
    assert registers_for(threads, blocks) == registers


def test_what_set_the_cap() -> None:
    bounds = LaunchBounds(1024, 2)
    by_bounds = facts(launch_bounds=bounds, cubin=CubinFacts(32, 0, 0, 32))
    assert cap_of(by_bounds).kind == "launch-bounds"
    # On sm_120 two blocks of 1024 threads do not fit, so ptxas ignores the second number.
    ignored = facts(launch_bounds=bounds, cubin=CubinFacts(64, 0, 0, 64), ptxas=None)
    assert cap_of(ignored).registers == 64
    assert cap_of(facts(cubin=CubinFacts(40, 0, 0, 40), ptxas=None)).kind == "option"
    full = facts(cubin=CubinFacts(255, 0, 0, 255), ptxas=None)
    assert cap_of(full).kind == "hardware"
    assert cap_of(facts(cubin=CubinFacts(90, 0, 0, 255), ptxas=None)).kind == "allocator"


@pytest.mark.parametrize(
    ("used", "limit", "kind"),
    [
        (80, 168, "allocator"),
        (160, 168, "allocator"),
        (161, 168, "launch-bounds"),
        (168, 255, "launch-bounds"),
        (80, 255, "allocator"),
        (None, 168, "launch-bounds"),
    ],
)
def test_bounds_that_leave_more_than_the_kernel_uses_are_not_the_cause(
    used: int | None, limit: int, kind: str
) -> None:
    by_bounds = facts(
        launch_bounds=LaunchBounds(384, None),
        ptxas=PtxasFacts(used, 0, 0, 0, 0, None, 0),
        cubin=CubinFacts(used, 0, 0, limit),
    )
    assert cap_of(by_bounds).kind == kind


def test_what_does_not_bind_is_not_to_be_loosened() -> None:
    roomy = changed(
        kernel("register-spill"),
        launch_bounds=LaunchBounds(384, 1),
        ptxas=PtxasFacts(80, 64, 16, 16, 0, None, 0),
        cubin=CubinFacts(80, 64, 0, 168),
    )
    (finding,) = find(roomy)
    assert "(chosen by ptxas; __launch_bounds__(384, 1) leaves 168)" in finding.message
    assert not any("launch bounds" in one.text for one in finding.advice)
    limited = replace(roomy, launch_bounds=None)
    (finding,) = find(limited)
    assert "below the limit of 168" in finding.message
    assert not any("maxrregcount" in one.text for one in finding.advice)


@pytest.mark.parametrize(
    ("own", "saved", "said"),
    [
        (SiteClass(7, 5, 28, 20), 0, "32 bytes of spill stores, 40 bytes of spill loads, of "
                                     "which 12 and 12 are in called functions"),
        (SiteClass(10, 8, 40, 32), 0, "32 bytes of spill stores, 40 bytes of spill loads"),
        # What is saved across calls is of the same class: whose it is does not show.
        (SiteClass(7, 5, 28, 20), 1, "32 bytes of spill stores, 40 bytes of spill loads"),
    ],
)  # fmt: skip
def test_spills_in_called_functions_are_told_from_those_that_ptxas_counts(
    own: SiteClass, saved: int, said: str
) -> None:
    base = kernel("register-spill", with_object=False)
    sites, nothing = SiteClass(10, 8, 40, 32), SiteClass(0, 0, 0, 0)
    (share,) = base.causes
    spilled = replace(
        base,
        causes=(share.with_bytes(share.frame_bytes, sites),),
        sites=SiteSplit(sites + SiteClass(saved, 0, saved * 4, 0), nothing, nothing),
        own_sites=SiteSplit(own, nothing, nothing),
    )
    (finding,) = find(spilled)
    stated = finding.message.partition(": ")[2]
    assert stated.partition(";")[0] == said


def test_fingerprints_survive_moved_lines_and_offsets() -> None:
    def fingerprint(text: str, line: int, pc: int) -> str:
        base = kernel("dynamic-index")
        place = InlineFrame("a.cu", line, None)
        moved = replace(base.accesses[0], chain=(place,), pc=pc)
        found = find(replace(base, accesses=(moved,)), {"a.cu": text})
        return only(found).fingerprint

    first = fingerprint("table[i] += 1;\n", 1, 16)
    assert fingerprint("\n\n  table[i]  +=  1;\n", 3, 96) == first
    assert fingerprint("table[j] += 1;\n", 1, 16) != first


@pytest.mark.parametrize(("subject", "is_given"), [("k", True), ("_Z4leafPf", False)])
def test_what_callers_hand_over_is_no_call_of_the_functions(subject: str, is_given: bool) -> None:
    taken = Evidence("ptx-instruction", subject, ptx_line=9, opcode="ld.param.u64")
    load = access("call-frame", object=None, evidence_facts=(taken,))
    facts = replace(
        kernel("call-frame", with_object=False),
        name="k",
        kind="function",
        accesses=(load,),
        calls=CallFacts((), (), True),
    )
    found = only(find(facts))
    assert found.message.startswith("callers pass values") == is_given
    assert ("function pointers" in found.advice[0].text) == (not is_given)


def test_a_call_frame_is_shown_at_the_call_and_not_in_what_is_called() -> None:
    def store(function: str, line: int, *, loads: bool = False) -> LocalAccess:
        frame = InlineFrame("a.cu", line, None)
        made = access("call-frame", object=None, is_store=not loads, chain=(frame,))
        return replace(made, function=function)

    plain = kernel("call-frame", with_object=False)
    theirs = tuple(store("_Z4leafPf", 20) for _ in range(9))
    # What a function returns in memory it stores itself, and its caller loads.
    for own in (store("k", 5), store("k", 5, loads=True)):
        facts = replace(plain, accesses=(own, *theirs))
        assert only(find(facts)).location == SourceLocation("a.cu", 5)
    callees = replace(plain, accesses=theirs)
    assert only(find(callees)).location == SourceLocation("a.cu", 20)
