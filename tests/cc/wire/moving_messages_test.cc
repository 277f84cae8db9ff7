// HandOver, Move, SlotLoads, and their replies.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

// As a message has a set of the slots 0 and 65: a bit per slot.
std::string SlotsInHex() {
  std::string text = "0001000000000000\n0100000000000000\n0200000000000000";
  for (uint32_t word = 2; word < kSlots / 64; ++word) {
    text += "\n0000000000000000";
  }
  return text;
}

SlotSet Slots() { return SlotSet().set(0).set(65); }

HandOverRequest SomeHandOver() {
  HandOverRequest request;
  request.step = HandOverStep::kCommit;
  request.hold_ms = 9;
  request.taker = 0xaabb;
  request.hold = 5;
  request.generation = 6;
  request.topology = {9, 8, 7};
  return request;
}

MoveRequest SomeMove() {
  MoveRequest request;
  request.action = MoveAction::kStart;
  request.shard = 3;
  request.source = 0xaabb;
  request.address = "h:1";
  request.most_bytes_per_second = 7;
  request.progress.state = MoveState::kEnded;
  request.progress.outcome = Status(Code::kUnavailable, "gone");
  request.progress.source = 0xccdd;
  request.progress.slots = 8;
  request.progress.moved = 6;
  request.progress.rows = 10;
  request.progress.bytes = 11;
  request.progress.most_held_us = 12;
  return request;
}

TEST(MovingMessagesTest, HandOverHasTheseBytes) {
  HandOverRequest request = SomeHandOver();
  const std::string fields =
      "0200000009000000\nbbaa000000000000\n0500000000000000\n"
      "0600000000000000\n";
  ExpectBytes(request, fields + "0000000000000000");
  request.slots = Slots();
  ExpectBytes(request, fields + SlotsInHex());
}

TEST(MovingMessagesTest, HandOverReplyHasTheseBytes) {
  HandOverRequest reply = SomeHandOver();
  ExpectReplyBytes(reply,
                   "0500000000000000\n0600000000000000\n0000000000000000\n"
                   "0300000000000000\n090807");
  ClientWindow window;
  window.client = 0xeeff;
  window.highest = 70;
  window.Set(1);
  window.Set(ClientWindow::kSequences - 1);
  reply.applied = {{Slots(), {window}}};
  std::string words = "0200000000000000";
  for (size_t word = 1; word < window.applied.size() - 1; ++word) {
    words += "\n0000000000000000";
  }
  ExpectReplyBytes(reply,
                   "0500000000000000\n0600000000000000\n0100000000000000\n" +
                       SlotsInHex() + "\n0100000000000000\n" +
                       "ffee000000000000\n4600000000000000\n" + words +
                       "\n0000000000000080\n0300000000000000\n090807");
}

TEST(MovingMessagesTest, WhatWasAppliedComesBackInEachPart) {
  ClientWindow a, b;
  a.client = 1;
  a.highest = 2000;
  a.Set(0);
  a.Set(700);
  b.client = 2;
  HandOverRequest reply;
  reply.applied = {{Slots(), {a, b}}, {SlotSet().set(9), {}}};
  HandOverRequest back;
  ASSERT_TRUE(DecodeReply(Body(EncodeReply(1, reply)).bytes(), &back).ok());
  ASSERT_EQ(back.applied.size(), 2u);
  EXPECT_EQ(back.applied[0].slots, Slots());
  EXPECT_EQ(back.applied[0].clients, (std::vector<ClientWindow>{a, b}));
  EXPECT_EQ(back.applied[1].slots, SlotSet().set(9));
  EXPECT_TRUE(back.applied[1].clients.empty());
}

TEST(MovingMessagesTest, AHandOverThatNoShardDoesIsRefused) {
  HandOverRequest request = SomeHandOver();
  request.step = static_cast<HandOverStep>(5);
  const Status status = Received(request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown step of a handing over 5");
}

// Else a request could hold slots for ever.
TEST(MovingMessagesTest, SlotsAreHeldForALimitedTime) {
  HandOverRequest request = SomeHandOver();
  request.hold_ms = HandOverRequest::kMostHoldMs;
  EXPECT_TRUE(Received(request).ok());
  ++request.hold_ms;
  const Status status = Received(request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "hold_ms must be at most 10000, received 10001");
}

TEST(MovingMessagesTest, OnlyAHoldHasALongReply) {
  using HandOver = Message<HandOverRequest>;
  HandOverRequest request;
  request.step = HandOverStep::kHold;
  EXPECT_EQ(HandOver::MostReplyBytes(request),
            HandOverRequest::kMostReplyBytes);
  for (const HandOverStep step : {HandOverStep::kAsk, HandOverStep::kCommit,
                                  HandOverStep::kRelease, HandOverStep::kEnd}) {
    request.step = step;
    EXPECT_EQ(HandOver::MostReplyBytes(request), TopologyRequest::kMostBytes);
  }
}

TEST(MovingMessagesTest, MoveHasTheseBytes) {
  MoveRequest request = SomeMove();
  const std::string fields =
      "0100000003000000\nbbaa000000000000\n0700000000000000\n";
  ExpectBytes(request, fields + "0000000000000000\n03000000683a3100");
  request.slots = Slots();
  ExpectBytes(request, fields + SlotsInHex() + "\n03000000683a3100");
}

TEST(MovingMessagesTest, MoveReplyHasTheseBytes) {
  const std::string code = Hex(
      std::vector<uint8_t>{static_cast<uint8_t>(Code::kUnavailable), 0, 0, 0});
  ExpectReplyBytes(SomeMove(), "02000000" + code +
                                   "\nddcc000000000000\n0800000006000000\n"
                                   "0a00000000000000\n0b00000000000000\n"
                                   "0c00000000000000\n04000000676f6e65");
}

TEST(MovingMessagesTest, TheOutcomeOfAMoveComesBack) {
  MoveRequest back;
  ASSERT_TRUE(
      DecodeReply(Body(EncodeReply(1, SomeMove())).bytes(), &back).ok());
  EXPECT_EQ(back.progress.outcome.code(), Code::kUnavailable);
  EXPECT_EQ(back.progress.outcome.message(), "gone");
}

TEST(MovingMessagesTest, AMoveThatNoShardMakesIsRefused) {
  MoveRequest request = SomeMove();
  for (const uint32_t action : {0u, 4u}) {
    request.action = static_cast<MoveAction>(action);
    const Status status = Received(request);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), Concat("unknown action on a move ", action));
  }
  request.progress.state = static_cast<MoveState>(3);
  EXPECT_EQ(ReceivedReply(request).code(), Code::kDataLoss);
}

TEST(MovingMessagesTest, SlotLoadsHasTheseBytes) {
  SlotLoadsRequest request;
  ExpectBytes(request, "");
  ExpectReplyBytes(request,
                   "0000000000000000\n0000000000000000\n0000000000000000");
  request.slots = Slots();
  request.ids = {3, 4};
  request.bytes = {0xaabb, 6};
  ExpectReplyBytes(request, SlotsInHex() +
                                "\n0200000000000000\n0200000000000000\n"
                                "0300000000000000\n0400000000000000\n"
                                "bbaa000000000000\n0600000000000000");
}

TEST(MovingMessagesTest, EachSlotWithALoadHasItsCounts) {
  SlotLoadsRequest request;
  request.slots = Slots();
  request.ids = {3, 4};
  request.bytes = {5};
  const Status status = ReceivedReply(request);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(),
            "2 slots have loads, but their counts are 2 and 1");
}

TEST(MovingMessagesTest, LoadsOfAllSlotsFitIntoAReply) {
  std::vector<SlotLoad> loads(kSlots, {1, 2});
  SlotLoadsRequest request;
  request.Tell(loads);
  EXPECT_LE(BodyBytes(EncodeReply(1, request)), SlotLoadsRequest::kMostBytes);
  request.AddTo(&loads);
  EXPECT_EQ(loads.back().ids, 2u);
  EXPECT_EQ(loads.front().bytes, 4u);
}

}  // namespace
}  // namespace persia
